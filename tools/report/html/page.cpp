#include "bale/tools/report/html/page.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/system/parallel.hpp"
#include "bale/formats/base/text/human.hpp"

namespace bale::tools {
namespace {

std::string today() {
  std::time_t now = std::time(nullptr);
  if (const char* const fixed = std::getenv("SOURCE_DATE_EPOCH")) now = static_cast<std::time_t>(std::atoll(fixed));
  std::tm day{};
  ::gmtime_r(&now, &day);
  return fmt::format("{:04}-{:02}-{:02}", day.tm_year + 1900, day.tm_mon + 1, day.tm_mday);
}

/// "node7 (AMD EPYC 7R13 Processor)".
std::string machine_name() {
  utsname system{};
  ::uname(&system);
  std::string model = static_cast<const char*>(system.machine);
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (!line.starts_with("model name") || colon == std::string::npos) continue;
    model = line.substr(colon + 2);
    break;
  }
  return fmt::format("{} ({})", static_cast<const char*>(system.nodename), model);
}

}  // namespace

std::string html_text(std::string_view raw) {
  std::string text;
  for (const char c : printable(raw)) {
    switch (c) {
      case '&':
        text += "&amp;";
        break;
      case '<':
        text += "&lt;";
        break;
      case '>':
        text += "&gt;";
        break;
      case '"':
        text += "&quot;";
        break;
      case '\'':
        text += "&#39;";
        break;
      default:
        text += c;
    }
  }
  return text;
}

std::string html_sentence(std::string_view raw) {
  std::string text;
  bool is_code = false;
  for (std::size_t at = 0; at <= raw.size();) {
    const std::size_t end = raw.find('`', at);
    const bool closes = is_code || (end != std::string_view::npos && raw.find('`', end + 1) != std::string_view::npos);
    if (end == std::string_view::npos || !closes) return text + html_text(raw.substr(at));
    text += html_text(raw.substr(at, end - at));
    text += is_code ? "</code>" : "<code>";
    is_code = !is_code;
    at = end + 1;
  }
  return text;
}

std::string html_footer(std::string_view made) {
  return fmt::format("<footer>{} {}, {}, {}.</footer>\n", made, html_text(today()), html_text(machine_name()),
                     plural(usable_cores(), "core"));
}

std::string html_page(std::string_view title, std::string_view body) {
  std::string page =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "style-src 'unsafe-inline'\">\n";
  page += fmt::format("<title>{}</title>\n<style>", html_text(title));
  page += k_page_style;
  page += "</style>\n</head>\n<body>\n<main>\n";
  page += body;
  page += "</main>\n</body>\n</html>\n";
  return page;
}

std::string html_tile(std::string_view figure, std::string_view what, std::string_view tone, std::string_view note) {
  return fmt::format("<div class=\"tile {}\"><b>{}</b>{}{}</div>\n", tone, html_text(figure), html_text(what),
                     note.empty() ? std::string() : fmt::format("<br><span>{}</span>", html_text(note)));
}

std::string html_section(std::string_view id, std::string_view heading, std::string_view body) {
  return fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n", id, html_text(heading)) + std::string(body) + "</section>\n";
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view k_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8 | (i < count ? static_cast<std::uint8_t>(bytes[at + i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) out += i <= count ? k_digits[group >> (18 - 6 * i) & 63U] : '=';
  }
  return out;
}

}  // namespace bale::tools
