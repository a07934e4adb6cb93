#include <fmt/format.h>

#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/format.hpp"
#include "bale/tools/commands/commands.hpp"

namespace bale::tools {
namespace {

void print_read_only(Terminal& terminal) {
  terminal.print(fmt::format("\n{:<20}{:<22}{}\n", "READ ONLY", "SUFFIX", "WHAT"));
  for (const Format* format : formats()) {
    if (!format->layouts.empty()) continue;
    terminal.print(
        fmt::format("{:<20}{:<22}{}\n", format->name, joined(format->read_suffixes, " "), format->read_summary));
  }
}

Json formats_json() {
  Json all = Json::array();
  for (const Format* format : formats()) {
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

int run_formats(const FormatsCommand& command, Terminal& terminal) {
  if (command.json) {
    terminal.print(json_document(formats_json()));
    return 0;
  }
  terminal.print(fmt::format("{:<10}{:<10}{:<11}{}\n", "FORMAT", "LAYOUT", "SUFFIX", "WHAT"));
  for (const Format* format : formats()) {
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
