#include "bale/formats/base/system/control_groups.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string_view>
#include <vector>

namespace bale {
namespace {

constexpr std::string_view k_groups = "/sys/fs/cgroup/";

/// A control group: the directory of its hierarchy, and its path there.
struct Group {
  std::vector<std::string> directories;  // the hierarchy is in one of these
  std::string path;
  bool is_version_2 = false;
};

bool has_item(std::string_view list, std::string_view wanted) {
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (list.substr(begin, end - begin) == wanted) return true;
    begin = end + 1;
  }
  return false;
}

/// Lines "NUMBER:CONTROLLERS:PATH"; version 2 has no controllers.
std::vector<Group> groups_of_this_process(const std::string& root, std::string_view controller) {
  std::vector<Group> groups;
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    const std::string base = root + std::string(k_groups);
    if (controllers.empty()) {
      groups.push_back({.directories = {base, base + "unified/"}, .path = path, .is_version_2 = true});
    } else if (has_item(controllers, controller)) {
      groups.push_back({.directories = {base + controllers + "/", base + std::string(controller) + "/"}, .path = path});
    }
  }
  return groups;
}

}  // namespace

void visit_control_groups(const std::string& root, std::string_view controller,
                          const std::function<void(const std::string& directory, bool is_version_2)>& visit) {
  for (const Group& group : groups_of_this_process(root, controller)) {
    for (const std::string& directory : group.directories) {
      for (std::string path = group.path;; path.resize(path.rfind('/'))) {
        visit(directory + path, group.is_version_2);
        if (path.empty() || path.rfind('/') == std::string::npos) break;
      }
    }
  }
}

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
