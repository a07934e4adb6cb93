#include "bale/formats/base/files/read_limit.hpp"

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
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

namespace {

/// nullopt if the system cannot say.
std::optional<bool> is_cached(const File& file, std::uint64_t offset) {
#if defined(RWF_NOWAIT)
  std::byte byte{};
  const struct iovec vector { .iov_base = &byte, .iov_len = 1 };
  for (;;) {
    const ssize_t got = ::preadv2(file.fd(), &vector, 1, static_cast<off_t>(offset), RWF_NOWAIT);
    if (got >= 0) return got > 0;
    if (errno == EAGAIN) return false;
    if (errno != EINTR) return std::nullopt;
  }
#else
  static_cast<void>(file);
  static_cast<void>(offset);
  return std::nullopt;
#endif
}

}  // namespace

std::optional<double> cached_part(std::span<const SizedFile> files) {
  constexpr std::uint64_t k_probes = 64;
  std::uint64_t total = 0;
  for (const SizedFile& file : files) total += file.bytes;
  const std::uint64_t step = std::max(total / k_probes, k_page_bytes);  // a look may bring its page into the cache
  std::uint64_t found = 0;
  std::uint64_t begin = 0;  // of the file, in all bytes
  std::uint64_t next = step / 2;
  std::uint64_t probes = 0;
  try {
    for (const SizedFile& sized : files) {
      const std::uint64_t end = begin + sized.bytes;
      if (next < end) {
        const File file = File::open_read(sized.path);
        ::posix_fadvise(file.fd(), 0, 0, POSIX_FADV_RANDOM);  // no more than that page
        for (; next < end; next += step, ++probes) {
          const auto cached = is_cached(file, next - begin);
          if (!cached) return std::nullopt;
          found += *cached ? 1 : 0;
        }
      }
      begin = end;
    }
  } catch (const Error&) {
    return std::nullopt;
  }
  if (probes == 0) return std::nullopt;
  return static_cast<double>(found) / static_cast<double>(probes);
}

namespace {

constexpr std::uint64_t k_huge_page_bytes = std::uint64_t{2} << 20;
constexpr std::uint64_t k_fault_bytes = 2 * k_huge_page_bytes;  // read by one page fault
constexpr std::uint32_t k_max_extents = 1024;                   // a file in more extents is read by other means

}  // namespace

TwoMibReads::TwoMibReads(const std::string& path) : file_(File::open_read(path)), file_bytes_(file_.size()) {
  find_breaks();
}

void TwoMibReads::find_breaks() {
  std::vector<std::uint64_t> memory((sizeof(fiemap) + k_max_extents * sizeof(fiemap_extent)) / sizeof(std::uint64_t) +
                                    1);
  auto* const map = reinterpret_cast<fiemap*>(memory.data());
  map->fm_length = FIEMAP_MAX_OFFSET;
  map->fm_extent_count = k_max_extents;
  usable_ = ::ioctl(file_.fd(), FS_IOC_FIEMAP, map) == 0 && map->fm_mapped_extents < k_max_extents;
  std::uint64_t expected = 0;
  for (std::uint32_t i = 0; usable_ && i < map->fm_mapped_extents; ++i) {
    const fiemap_extent& extent = map->fm_extents[i];
    if (i > 0 && extent.fe_physical != expected) breaks_.push_back(extent.fe_logical);
    expected = extent.fe_physical + extent.fe_length;
  }
}

/// Whether every break from `begin` to `end` is at a multiple of 2 MiB, so that no folio has a break inside.
bool TwoMibReads::is_whole(std::uint64_t begin, std::uint64_t end) const {
  auto next = std::upper_bound(breaks_.begin(), breaks_.end(), begin);
  while (next != breaks_.end() && *next < end && *next % k_huge_page_bytes == 0) ++next;
  return next == breaks_.end() || *next >= end;
}

bool TwoMibReads::read(std::uint64_t offset, std::uint64_t length) {
#if defined(MADV_HUGEPAGE) && defined(MADV_POPULATE_READ)
  const std::uint64_t begin = offset / k_huge_page_bytes * k_huge_page_bytes;
  const std::uint64_t end = std::min(offset + length, file_bytes_);
  if (!usable_ || begin >= end) return false;
  void* const address = ::mmap(nullptr, end - begin, PROT_READ, MAP_SHARED, file_.fd(), static_cast<off_t>(begin));
  if (address == MAP_FAILED) return usable_ = false;
  // With MADV_HUGEPAGE, one page fault reads two huge pages, each as one folio if the file system supports that (Linux,
  // mm/filemap.c, do_sync_mmap_readahead). MADV_POPULATE_READ, unlike an access, cannot raise SIGBUS.
  usable_ = ::madvise(address, end - begin, MADV_HUGEPAGE) == 0;
  for (std::uint64_t at = begin; usable_ && at < end;) {
    if (is_whole(at, at + k_fault_bytes)) {
      usable_ = ::madvise(static_cast<std::byte*>(address) + (at - begin), k_page_bytes, MADV_POPULATE_READ) == 0;
      at += k_fault_bytes;
    } else {  // a folio in two places on the disk would be read block by block
      file_.advise_will_need(at, std::min(k_huge_page_bytes, end - at));
      at += k_huge_page_bytes;
    }
  }
  ::munmap(address, end - begin);
  return usable_;
#else
  static_cast<void>(offset);
  static_cast<void>(length);
  return false;
#endif
}

}  // namespace bale
