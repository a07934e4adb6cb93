#include "bale/tools/commands/formats.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/format.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/report/json/json_document.hpp"
#include "bale/writer/source/source.hpp"

namespace bale::tools {

namespace {

/// The formats that are stored on disk.
std::vector<const Format*> lasting_formats() {
  std::vector<const Format*> lasting;
  std::copy_if(formats().begin(), formats().end(), std::back_inserter(lasting),
               [](const Format* format) { return format->on_disk; });
  return lasting;
}

std::string joined(const std::vector<std::string_view>& names) { return fmt::format("{}", fmt::join(names, "|")); }

void print_read_only(Terminal& terminal) {
  terminal.print(fmt::format("\n{:<20}{:<22}{}\n", "READ ONLY", "SUFFIX", "WHAT"));
  for (const Format* format : lasting_formats()) {
    if (!format->layouts.empty()) continue;
    terminal.print(
        fmt::format("{:<20}{:<22}{}\n", format->name, fmt::join(format->read_suffixes, " "), format->read_summary));
  }
}

Json formats_json() {
  Json all = Json::array();
  for (const Format* format : lasting_formats()) {
    Json layouts = Json::array();
    for (const Layout& layout : format->layouts) {
      layouts.push_back({{"name", layout.name},
                         {"suffix", layout.suffix},
                         {"counted", layout.counted},
                         {"keeps_bytes", layout.keeps_bytes},
                         {"keeps_all_fields", layout.keeps_all_fields},
                         {"summary", layout.summary}});
    }
    Json suffixes = Json::array();
    for (const std::string_view suffix : format->read_suffixes) suffixes.push_back(suffix);
    all.push_back({{"name", format->name},
                   {"writes", !format->layouts.empty()},
                   {"layouts", layouts},
                   {"read_suffixes", suffixes},
                   {"summary", format->read_summary}});
  }
  return all;
}

}  // namespace

std::string format_choices() {
  std::vector<std::string_view> names;
  for (const Format* format : lasting_formats()) {
    if (!format->layouts.empty()) names.push_back(format->name);
  }
  return joined(names);
}

std::string packed_source_choices() {
  std::vector<std::string_view> names;
  for (const Format* format : lasting_formats()) names.push_back(format->name);
  return joined(names);
}

std::string layout_choices() {
  std::vector<std::string_view> names;
  for (const Format* format : lasting_formats()) {
    for (const Layout& layout : format->layouts) {
      if (std::find(names.begin(), names.end(), layout.name) == names.end()) names.push_back(layout.name);
    }
  }
  return joined(names);
}

std::string source_choices() { return fmt::format("{}", fmt::join(source_kinds(), "|")); }

std::string parse_source_kind(std::string_view option, const std::string& text, bool packed) {
  const std::vector<const Format*> lasting = lasting_formats();
  if (std::any_of(lasting.begin(), lasting.end(), [&](const Format* format) { return format->name == text; })) {
    return text;
  }
  const std::vector<std::string> kinds = source_kinds();
  if (!packed && std::find(kinds.begin(), kinds.end(), text) != kinds.end()) return text;
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: \"{}\" is not one of {}", option, printable(text),
                                                       packed ? packed_source_choices() : source_choices()));
}

int run_formats(const FormatsCommand& command, Terminal& terminal) {
  if (command.json) {
    terminal.print(json_document(formats_json()));
    return 0;
  }
  terminal.print(fmt::format("{:<10}{:<10}{:<11}{}\n", "FORMAT", "LAYOUT", "SUFFIX", "WHAT"));
  for (const Format* format : lasting_formats()) {
    for (const Layout& layout : format->layouts) {
      std::string what(layout.summary);
      if (!layout.keeps_bytes) what += what.empty() ? "decoded pixels" : "; decoded pixels, not the original bytes";
      const std::string suffix = layout.counted ? fmt::format("-of-N{}", layout.suffix) : std::string(layout.suffix);
      terminal.print(fmt::format("{:<10}{:<10}{:<11}{}\n", format->name, layout.name, suffix, what));
    }
  }
  print_read_only(terminal);
  return 0;
}

}  // namespace bale::tools
