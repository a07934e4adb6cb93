#include "bale/formats/base/cores.hpp"

#include <sched.h>

#include <algorithm>
#include <fstream>
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
std::vector<Group> groups_of_this_process(const std::string& root) {
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
    } else if (has_item(controllers, "cpu")) {
      groups.push_back({.directories = {base + controllers + "/", base + "cpu/"}, .path = path});
    }
  }
  return groups;
}

/// "QUOTA PERIOD" in one file, or "QUOTA" in one and "PERIOD" in the other; "max" or -1: none.
std::optional<double> quota_in(const std::string& directory, bool is_version_2) {
  double quota = 0;
  double period = 0;
  if (is_version_2) {
    std::ifstream file(directory + "/cpu.max");
    if (!(file >> quota >> period)) return std::nullopt;
  } else {
    std::ifstream quota_file(directory + "/cpu.cfs_quota_us");
    std::ifstream period_file(directory + "/cpu.cfs_period_us");
    if (!(quota_file >> quota) || !(period_file >> period)) return std::nullopt;
  }
  if (quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

}  // namespace

std::optional<unsigned> affinity_cores(pid_t pid) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(pid, sizeof cores, &cores) != 0) return std::nullopt;  // more cores than the mask can hold
  return static_cast<unsigned>(std::max(CPU_COUNT(&cores), 1));
}

std::optional<double> cpu_quota(const std::string& root) {
  std::optional<double> least;
  for (const Group& group : groups_of_this_process(root)) {
    for (const std::string& directory : group.directories) {
      // The quotas of all parent groups also apply. In a container the path may be the host's and may not exist.
      for (std::string path = group.path;; path.resize(path.rfind('/'))) {
        const auto quota = quota_in(directory + path, group.is_version_2);
        if (quota && (!least || *quota < *least)) least = quota;
        if (path.empty() || path.rfind('/') == std::string::npos) break;
      }
    }
  }
  return least;
}

unsigned limited_by(std::optional<double> quota, unsigned cores) {
  if (!quota || *quota >= cores) return std::max(cores, 1U);
  return std::max(static_cast<unsigned>(*quota), 1U);
}

}  // namespace bale
