#include "bale/formats/base/files/cached_part.hpp"

#include <fcntl.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/files/read_limit.hpp"

namespace bale {
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

}  // namespace bale
