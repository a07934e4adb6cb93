#include "bale/formats/base/files/two_mib_reads.hpp"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <algorithm>

#include "bale/formats/base/files/read_limit.hpp"

namespace bale {
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
  const std::uint64_t begin = offset / k_huge_page_bytes * k_huge_bytes;
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
