#include "bale/formats/base/cores.hpp"

#include <sched.h>

#include <algorithm>
#include <fstream>

#include "bale/formats/base/control_groups.hpp"

namespace bale {
namespace {

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
  visit_control_groups(root, "cpu", [&](const std::string& directory, bool is_version_2) {
    const auto quota = quota_in(directory, is_version_2);
    if (quota && (!least || *quota < *least)) least = quota;
  });
  return least;
}

unsigned limited_by(std::optional<double> quota, unsigned cores) {
  if (!quota || *quota >= cores) return std::max(cores, 1U);
  return std::max(static_cast<unsigned>(*quota), 1U);
}

}  // namespace bale
