#include "bale/reader/direct_choice.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "bale/formats/base/available_memory.hpp"
#include "bale/formats/base/error.hpp"

namespace bale {

std::optional<std::uint64_t> memory_for_files() {
  const char* const set = std::getenv("BALE_MEMORY_BYTES");
  if (set == nullptr || *set == '\0') return available_memory();
  const std::string_view text(set);
  std::uint64_t bytes = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (problem == std::errc{} && end == text.data() + text.size()) return bytes;
  throw Error(ErrorCode::invalid_argument, fmt::format("BALE_MEMORY_BYTES is \"{}\"", printable(text)),
              {.hint = "set it to a number of bytes"});
}

bool prefers_direct_io(std::span<const SizedFile> files, std::optional<std::uint64_t> memory) {
  if (!memory) return false;
  std::uint64_t total = 0;
  for (const SizedFile& file : files) total += file.bytes;
  if (total <= *memory) return false;
  constexpr double k_enough = 0.5;
  return cached_part(files).value_or(0) < k_enough;
}

}  // namespace bale
