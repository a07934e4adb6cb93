#include "bale/reader/shards/direct_choice.hpp"

#include "bale/formats/base/names/env_bytes.hpp"
#include "bale/formats/base/system/control_groups.hpp"

namespace bale {

std::optional<std::uint64_t> memory_for_files() {
  const auto set = env_bytes("BALE_MEMORY_BYTES");
  return set ? set : available_memory();
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
