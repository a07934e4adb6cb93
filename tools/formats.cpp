#include <fmt/format.h>

#include "bale/formats/core/format.hpp"
#include "bale/tools/commands.hpp"

namespace bale::tools {

int run_formats(Terminal& terminal) {
  terminal.print(fmt::format("{:<10}{:<10}{:<11}{}\n", "FORMAT", "LAYOUT", "SUFFIX", "WHAT"));
  for (const Format* format : formats()) {
    for (const Layout& layout : format->layouts) {
      std::string what(layout.summary);
      if (!layout.keeps_bytes) what += what.empty() ? "decoded pixels" : "; decoded pixels, not the original bytes";
      terminal.print(fmt::format("{:<10}{:<10}{:<11}{}\n", format->name, layout.name, layout.suffix, what));
    }
  }
  return 0;
}

}  // namespace bale::tools
