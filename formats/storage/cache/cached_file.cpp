#include "bale/formats/storage/cache/cached_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/storage/cache/entries/eviction.hpp"
#include "bale/formats/storage/cache/shared/shared_file.hpp"

namespace bale {
namespace {

using UnitBuffer = std::array<std::byte, k_unit_bytes>;

/// Reads into up to three places, one after another. Returns false on any failure or end of file.
bool read_vectors(int fd, std::uint64_t offset, std::array<MutableBytes, 3> parts) {
  std::array<struct iovec, 3> vectors{};
  std::size_t total = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    vectors[i] = {.iov_base = parts[i].data(), .iov_len = parts[i].size()};
    total += parts[i].size();
  }
  std::size_t got = 0;
  while (got < total) {
    // A second round is rare: a signal, or a file system that returns less than it was asked for.
    std::array<struct iovec, 3> rest = vectors;
    std::size_t skip = got;
    for (struct iovec& vector : rest) {
      const std::size_t taken = std::min(skip, vector.iov_len);
      vector = {.iov_base = static_cast<std::byte*>(vector.iov_base) + taken, .iov_len = vector.iov_len - taken};
      skip -= taken;
    }
    const ssize_t now = ::preadv(fd, rest.data(), static_cast<int>(rest.size()), static_cast<off_t>(offset + got));
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return false;
    got += static_cast<std::size_t>(now);
  }
  return true;
}

/// The size is only the end of a hole: it takes no room.
File open_data(const std::string& path, std::uint64_t file_bytes) {
  File data = open_shared_file(path, 1);
  if (data.size() != file_bytes) data.truncate(file_bytes);
  return data;
}

}  // namespace

std::shared_ptr<CachedFile> CachedFile::open(std::shared_ptr<CacheDirectory> cache, const std::string& identity,
                                             std::uint64_t file_bytes) {
  try {
    return open_whole(cache, identity, file_bytes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::damaged) throw;
  }
  {
    const CacheDirectory::Removal removal(*cache);
    const std::string map_path = cache->path_of(identity, ".map");
    try {
      const UnitMap made_by_another(map_path, file_bytes);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::damaged) throw;
      cache->removed(remove_entry(map_path));
    }
  }
  return open_whole(std::move(cache), identity, file_bytes);
}

std::shared_ptr<CachedFile> CachedFile::open_whole(std::shared_ptr<CacheDirectory> cache, const std::string& identity,
                                                   std::uint64_t file_bytes) {
  const std::string map_path = cache->path_of(identity, ".map");
  const std::uint64_t map_bytes =
      (units_of(0, UnitMap::size_of_map(file_bytes)).end + 2) * k_unit_bytes;  // and the file system's part
  const bool is_new = !name_is_taken(map_path);
  if (is_new && !cache->reserve(map_bytes)) return nullptr;
  try {
    std::shared_ptr<CachedFile> file(new CachedFile(cache, identity, file_bytes));
    if (is_new) cache->stored(map_bytes);
    return file;
  } catch (const Error&) {
    if (is_new) cache->give_back(map_bytes);
    throw;
  }
}

/// The map first: content without a map is what a killed process left.
CachedFile::CachedFile(std::shared_ptr<CacheDirectory> cache, const std::string& identity, std::uint64_t file_bytes)
    : cache_(std::move(cache)),
      map_(cache_->path_of(identity, ".map"), file_bytes),
      data_(open_data(cache_->path_of(identity, ".data"), file_bytes)) {}

bool CachedFile::read(std::uint64_t offset, MutableBytes out) {
  if (out.empty()) return true;
  const UnitRun units = units_of(offset, out.size());
  if (!map_.all_present(units)) return false;
  // Units that the range covers in part are read whole, aside, so that their checksums can be compared.
  UnitBuffer head;
  UnitBuffer tail;
  const std::uint64_t end = offset + out.size();
  const std::uint64_t begin_aligned = units.first * k_unit_bytes;
  const std::uint64_t end_aligned = std::min(units.end * k_unit_bytes, map_.file_bytes());
  const bool cuts_head = offset != begin_aligned || (units.size() == 1 && end != end_aligned);
  const bool cuts_tail = units.size() > 1 && end != end_aligned;
  const std::uint64_t head_end = std::min(begin_aligned + k_unit_bytes, end_aligned);
  const std::uint64_t inner_begin = cuts_head ? head_end : begin_aligned;
  const std::uint64_t tail_begin = (units.end - 1) * k_unit_bytes;
  const std::uint64_t inner_end = cuts_tail ? tail_begin : end_aligned;
  const MutableBytes head_bytes(head.data(), cuts_head ? head_end - begin_aligned : 0);
  const MutableBytes tail_bytes(tail.data(), cuts_tail ? end_aligned - tail_begin : 0);
  const MutableBytes inner =
      inner_begin < inner_end ? out.subspan(inner_begin - offset, inner_end - inner_begin) : MutableBytes();
  if (!read_vectors(data_.fd(), begin_aligned, {head_bytes, inner, tail_bytes})) return false;
  bool is_right = true;
  const std::uint32_t token = cache_->slots().token();
  const auto check = [&](std::uint64_t unit, Bytes bytes) {
    const std::uint32_t expected = map_.crc_of(unit);
    if (crc32c(bytes) == expected) return;
    if (map_.claim_wrong(unit, expected, token)) cache_->removed(remove_claimed(map_, data_, {unit, unit + 1}, token));
    is_right = false;
  };
  if (cuts_head) check(units.first, head_bytes);
  for (std::uint64_t at = 0; at < inner.size(); at += k_unit_bytes) {
    check((inner_begin + at) / k_unit_bytes, inner.subspan(at, std::min(k_unit_bytes, inner.size() - at)));
  }
  if (cuts_tail) check(units.end - 1, tail_bytes);
  if (!is_right) return false;
  if (cuts_head) {
    std::copy_n(head.begin() + static_cast<std::ptrdiff_t>(offset - begin_aligned), std::min(end, head_end) - offset,
                out.begin());
  }
  if (cuts_tail) {
    std::copy_n(tail.begin(), end - tail_begin, out.begin() + static_cast<std::ptrdiff_t>(tail_begin - offset));
  }
  map_.touch(units, cache_->now());
  return true;
}

std::uint64_t CachedFile::num_present(UnitRun units) const {
  std::uint64_t count = 0;
  for (std::uint64_t unit = units.first; unit < units.end; ++unit) count += map_.is_present(unit) ? 1 : 0;
  return count;
}

bool CachedFile::write(std::uint64_t first_unit, std::span<const Bytes> parts) {
  try {
    data_.write_all_at(first_unit * k_unit_bytes, parts);
  } catch (const Error& error) {
    cache_->set_full(error);
    return false;
  }
  std::uint64_t unit = first_unit;
  for (Bytes rest : parts) {
    for (; !rest.empty(); ++unit) {
      const Bytes content = rest.first(std::min<std::size_t>(rest.size(), k_unit_bytes));
      map_.set_present(unit, crc32c(content));
      rest = rest.subspan(content.size());
    }
  }
  cache_->stored((unit - first_unit) * k_unit_bytes);
  map_.touch({first_unit, unit}, cache_->now());
  map_.announce();
  return true;
}

File CachedFile::pin() const {
  File data = File::open_read(data_.path());
  while (::flock(data.fd(), LOCK_SH) != 0) {
    if (errno != EINTR) throw_errno("lock", data.path());
  }
  return data;
}

void CachedFile::will_use(UnitRun units, const NextUse& use) {
  const Tick now = cache_->now();
  const OrderTable& orders = cache_->orders();
  const std::uint32_t next = cache_->orders().note(use, now);
  const std::optional<float> ticks = orders.ticks_until(next, now);
  std::uint32_t compared = next;  // most units of a range have the same next use
  bool is_sooner = false;
  for (std::uint64_t unit = units.first; unit < units.end; ++unit) {
    const std::optional<std::uint32_t> current = map_.next_use(unit);
    if (!current || *current == next) continue;
    if (*current != std::exchange(compared, *current)) {
      const std::optional<float> known = orders.ticks_until(*current, now);
      is_sooner = !known || (ticks && *ticks < *known);
    }
    if (is_sooner) map_.set_next_use(unit, next);
  }
}

void CachedFile::forget(UnitRun units) {
  for (const UnitRun& run : map_.claim_present(units, cache_->slots().token())) {
    cache_->removed(run.size() * k_unit_bytes);
    release(run, false);
  }
}

void CachedFile::release(UnitRun units, bool is_reserved) {
  if (units.size() == 0) return;
  map_.release(units, cache_->slots().token());
  if (is_reserved) cache_->give_back(units.size() * k_unit_bytes);
  map_.announce();
}

}  // namespace bale
