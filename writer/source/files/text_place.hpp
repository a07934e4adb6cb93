// Where in a text something is, for messages.
#pragma once

#include <cstdint>
#include <string>

namespace bale {

/// "line 7: ", or nothing for line 0: not in a text of lines.
inline std::string place_in_text(std::uint64_t line) {
  return line == 0 ? std::string() : "line " + std::to_string(line) + ": ";
}

}  // namespace bale
