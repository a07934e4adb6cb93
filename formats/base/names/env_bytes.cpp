#include "bale/formats/base/names/env_bytes.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"

namespace bale {

std::optional<std::uint64_t> env_bytes(const char* name) {
  const char* const set = std::getenv(name);
  if (set == nullptr || *set == '\0') return std::nullopt;
  const std::string_view text(set);
  std::uint64_t bytes = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (problem == std::errc{} && end == text.data() + text.size()) return bytes;
  throw Error(ErrorCode::invalid_argument, fmt::format("{} is \"{}\"", name, printable(text)),
              {.hint = "set it to a number of bytes"});
}

}  // namespace bale
