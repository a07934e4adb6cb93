#include "bale/tools/report/html/page.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/system/cores.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/image/reduced_image.hpp"

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

namespace {

constexpr double k_width = 340;
constexpr double k_height = 130;
constexpr double k_top = 16;
constexpr double k_bottom = k_height - 20;

std::string axis() {
  return fmt::format("<line class=\"axis\" x1=\"0\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>\n", k_width, k_bottom, k_bottom);
}

std::string open_svg(std::string_view label) {
  return fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", k_width, k_height,
                     html_text(label));
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, html_text(text));
}

}  // namespace

std::string histogram_svg(const Spread& spread, std::string_view label, ShowNumber show) {
  if (spread.bins.empty()) return {};
  std::uint64_t tallest = 1;
  for (const Bin& bin : spread.bins) tallest = std::max(tallest, bin.count);
  const double step = k_width / static_cast<double>(spread.bins.size());
  const double gap = std::min(2.0, step * 0.2);
  std::string svg = open_svg(label) + axis();
  for (std::size_t i = 0; i < spread.bins.size(); ++i) {
    const Bin& bin = spread.bins[i];
    if (bin.count == 0) continue;
    const bool is_last = i + 1 == spread.bins.size();
    const double height =
        std::max(1.5, (k_bottom - k_top) * static_cast<double>(bin.count) / static_cast<double>(tallest));
    const std::string end = is_last ? show(std::max(spread.max, bin.end - 1)) : show(bin.end - 1);
    svg += fmt::format(
        "<rect class=\"bar\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" rx=\"1.5\"><title>{} to {}: "
        "{}</title></rect>\n",
        static_cast<double>(i) * step + gap / 2, k_bottom - height, step - gap, height, html_text(show(bin.begin)),
        html_text(end), human_count(bin.count));
  }
  const Bin& last = spread.bins.back();
  svg += text_at(0, k_height - 6, "start", show(spread.bins.front().begin));
  const Bin& middle = spread.bins[spread.bins.size() / 2];
  if (spread.bins.size() > 4) {
    svg += text_at(step * static_cast<double>(spread.bins.size() / 2), k_height - 6, "middle", show(middle.begin));
  }
  svg +=
      text_at(k_width, k_height - 6, "end", spread.max >= last.end ? show(last.begin) + " and more" : show(last.end));
  svg += text_at(k_width, 10, "end", "tallest: " + human_count(tallest));
  return svg + "</svg>\n";
}

std::string bar_svg(double share, std::string_view label) {
  const double width = 100 * std::clamp(share, 0.0, 1.0);
  return fmt::format(
      "<svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\"><rect class=\"rest\" "
      "width=\"100\" height=\"10\"/><rect class=\"bar\" width=\"{:.2f}\" height=\"10\"/></svg>",
      html_text(label), share > 0 ? std::max(width, 0.6) : 0);
}

std::string bar_table(std::span<const NamedCount> rows, std::uint64_t total, std::uint64_t most) {
  if (most == 0) {
    for (const NamedCount& row : rows) most = std::max(most, row.count);
  }
  most = std::max<std::uint64_t>(most, 1);
  std::string table = "<table>\n";
  for (const NamedCount& row : rows) {
    table += fmt::format("<tr><th scope=\"row\" class=\"name\"><bdi>{}</bdi></th><td class=\"n\">{}</td>",
                         html_text(row.name), human_count(row.count));
    if (total > 0) {
      const double share = 100 * static_cast<double>(row.count) / static_cast<double>(total);
      table += fmt::format("<td class=\"n dim\">{}</td>",
                           row.count > 0 && share < 0.1 ? std::string("&lt;0.1%") : fmt::format("{:.1f}%", share));
    }
    table += fmt::format("<td class=\"bar\">{}</td></tr>\n",
                         bar_svg(static_cast<double>(row.count) / static_cast<double>(most), human_count(row.count)));
  }
  return table + "</table>\n";
}

std::string curve_svg(std::span<const std::uint64_t> sorted, std::string_view label) {
  const double most = static_cast<double>(std::max<std::uint64_t>(sorted.front(), 1));
  const std::vector<std::uint64_t> shown = spread_choice(sorted.size(), 400);
  std::string points;
  for (const std::uint64_t i : shown) {
    const double x = sorted.size() > 1 ? k_width * static_cast<double>(i) / static_cast<double>(sorted.size() - 1) : 0;
    points += fmt::format("{:.1f},{:.1f} ", x, k_bottom - (k_bottom - k_top) * static_cast<double>(sorted[i]) / most);
  }
  points +=
      fmt::format("{:.1f},{:.1f}", k_width, k_bottom - (k_bottom - k_top) * static_cast<double>(sorted.back()) / most);
  std::string svg = open_svg(label);
  svg += fmt::format("<polygon class=\"area\" points=\"0,{:.1f} {} {:.1f},{:.1f}\"/>\n", k_bottom, points, k_width,
                     k_bottom);
  svg += fmt::format("<polyline class=\"line\" points=\"{}\"/>\n", points) + axis();
  svg += text_at(0, 10, "start", "largest: " + human_count(sorted.front()));
  svg += text_at(k_width, 10, "end", "smallest: " + human_count(sorted.back()));
  svg += text_at(0, k_height - 6, "start", "classes, by size");
  svg += text_at(k_width, k_height - 6, "end", human_count(sorted.size()));
  return svg + "</svg>\n";
}

namespace {

constexpr std::uint32_t k_picture_px = 144;
constexpr int k_quality = 72;

/// The image without the padding of its last blocks, small enough.
Image shrink(ReducedImage reduced) {
  Image& image = reduced.image;
  const std::uint32_t longer = std::max(image.width, image.height);
  if (longer <= k_picture_px) return std::move(image);
  const auto side = [&](std::uint32_t pixels) {
    return std::max(1U, static_cast<std::uint32_t>(std::uint64_t{pixels} * k_picture_px / longer));
  };
  return resize_image(image, side(image.width), side(image.height));
}

}  // namespace

const std::string_view k_no_picture = "<div class=\"hole\">no picture</div>";

std::string picture_element(Bytes stored, std::uint32_t min_side, std::string_view alt) {
  const std::vector<std::byte> jpeg = encode_jpeg(shrink(decode_reduced(stored, std::max(min_side, 1U))), k_quality);
  return fmt::format("<img alt=\"{}\" src=\"data:image/jpeg;base64,{}\">", html_text(alt), base64(as_text(jpeg)));
}

std::string Pictures::make(std::uint64_t number, std::string_view alt) {
  const std::size_t part = survey_.part_of(number);
  const SampleView sample = survey_.parts[part].source->read(number - survey_.begins[part], scratch_);
  const FieldView* const field = sample.find_image();
  if (field == nullptr) return {};
  const SurveyedImage& image = survey_.images[number];
  // The shorter side of an image whose longer side has k_picture_px pixels.
  const std::uint64_t longer = std::max({image.width, image.height, 1U});
  return picture_element(
      field->bytes,
      static_cast<std::uint32_t>(std::uint64_t{std::min(image.width, image.height)} * k_picture_px / longer), alt);
}

std::string Pictures::element(std::uint64_t number, std::string_view alt) {
  if (survey_.images[number].is_decoded) {
    try {
      std::string picture = make(number, alt);
      if (!picture.empty()) {
        ++count_;
        return picture;
      }
    } catch (const Error& error) {
      if (error.code() == ErrorCode::interrupted || is_lack_of_resources(error)) throw;
    }
  }
  return std::string(k_no_picture);
}

}  // namespace bale::tools
