#include "bale/formats/core/read_limit.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>

#include <fmt/format.h>

namespace bale {
namespace {

/// The number in a file of sysfs, in KiB; 0 where there is none.
std::uint64_t bytes_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t kib = 0;
  return file >> kib && kib < (std::uint64_t{1} << 40) ? kib << 10 : 0;
}

std::uint64_t limit_of_device(dev_t device) {
  const std::string number = fmt::format("{}:{}", ::major(device), ::minor(device));
  const std::string block = "/sys/dev/block/" + number;
  // A partition has its queue one level up; a file system without a device only the backing device's read-ahead.
  return std::max({k_least_read_limit, bytes_in("/sys/class/bdi/" + number + "/read_ahead_kb"),
                   bytes_in(block + "/queue/read_ahead_kb"), bytes_in(block + "/queue/max_sectors_kb"),
                   bytes_in(block + "/../queue/read_ahead_kb"), bytes_in(block + "/../queue/max_sectors_kb")});
}

}  // namespace

std::uint64_t read_limit(int fd) {
  static std::mutex mutex;
  static std::map<dev_t, std::uint64_t> limits;
  struct stat info {};
  if (::fstat(fd, &info) != 0) return k_least_read_limit;
  const std::lock_guard lock(mutex);
  const auto known = limits.find(info.st_dev);
  if (known != limits.end()) return known->second;
  return limits[info.st_dev] = limit_of_device(info.st_dev);
}

}  // namespace bale
