#include "bale/formats/base/system/available_memory.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string_view>

#include "bale/formats/base/system/control_groups.hpp"

namespace bale {
namespace {

/// The number after `name` at the beginning of a line.
std::optional<std::uint64_t> entry_of(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  std::string found;
  std::uint64_t value = 0;
  while (file >> found) {
    if (found == name && file >> value) return value;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

/// nullopt also for "max".
std::optional<std::uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> room_in_group(const std::string& directory, bool is_version_2) {
  const auto limit = number_in(directory + (is_version_2 ? "/memory.max" : "/memory.limit_in_bytes"));
  const auto usage = number_in(directory + (is_version_2 ? "/memory.current" : "/memory.usage_in_bytes"));
  if (!limit || !usage) return std::nullopt;
  const std::string prefix = is_version_2 ? "" : "total_";
  std::uint64_t cached = 0;  // without shared memory and tmpfs, which cannot be dropped
  for (const char* list : {"active_file", "inactive_file"}) {
    cached += entry_of(directory + "/memory.stat", prefix + list).value_or(0);
  }
  const std::uint64_t kept = *usage - std::min(*usage, cached);
  return *limit - std::min(*limit, kept);
}

}  // namespace

std::optional<std::uint64_t> available_memory(const std::string& root) {
  constexpr std::uint64_t k_kib = 1024;
  std::optional<std::uint64_t> least = entry_of(root + "/proc/meminfo", "MemAvailable:");
  if (least) *least *= k_kib;
  visit_control_groups(root, "memory", [&](const std::string& directory, bool is_version_2) {
    const auto room = room_in_group(directory, is_version_2);
    if (room && (!least || *room < *least)) least = room;
  });
  return least;
}

}  // namespace bale
