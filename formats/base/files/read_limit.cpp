#include "bale/formats/base/files/read_limit.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "bale/formats/base/system/fork_mutex.hpp"

namespace bale {
namespace {

/// The number in a file of sysfs; 0 if there is none.
std::uint64_t sysfs_number(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  return file >> number && number < (std::uint64_t{1} << 40) ? number : 0;
}

std::uint64_t limit_of_device(dev_t device) {
  const std::string number = fmt::format("{}:{}", ::major(device), ::minor(device));
  std::uint64_t kib = sysfs_number("/sys/class/bdi/" + number + "/read_ahead_kb");
  std::uint64_t segments = 0;
  // The queue of a partition is one level up; a file system without a device has none.
  for (const char* queue : {"/queue/", "/../queue/"}) {
    const std::string path = "/sys/dev/block/" + number + queue;
    kib = std::max({kib, sysfs_number(path + "read_ahead_kb"), sysfs_number(path + "max_sectors_kb")});
    segments = std::max(segments, sysfs_number(path + "max_segments"));
  }
  std::uint64_t limit = kib << 10;
  if (segments > 0) limit = std::min(limit, segments * k_page_bytes);
  return std::max(limit - limit % k_page_bytes, k_least_read_limit);
}

ForkMutex mutex;
std::map<dev_t, std::uint64_t> limits;  // guarded by it

}  // namespace

std::uint64_t read_limit(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return k_least_read_limit;
  const std::lock_guard lock(mutex);
  const auto known = limits.find(info.st_dev);
  if (known != limits.end()) return known->second;
  return limits[info.st_dev] = limit_of_device(info.st_dev);
}

}  // namespace bale
