#include "bale/formats/storage/cache/cache_directory.hpp"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ratio>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/files/temporary_file.hpp"
#include "bale/formats/storage/cache/cache_settings.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_slack = 128;  // a removal makes room for this part of the limit, so that it is rarely needed
/// What is not reserved piece by piece: temporary records, and the file systems' lists of extents.
constexpr std::uint64_t k_spare_bytes = std::uint64_t{256} << 10;
constexpr std::uint64_t k_spare_part = 512;
constexpr std::size_t k_few_files = 20'000;   // which are counted in some milliseconds
constexpr std::uint64_t k_trusted_parts = 4;  // of the limit: less than all but one of them may be in use uncounted

/// Also of a path that is to be made.
std::uint64_t free_bytes_of_disk(const std::string& path) {
  struct statvfs disk {};
  if (::statvfs(path.c_str(), &disk) == 0) return static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize;
  if (errno != ENOENT) return 0;
  const std::string parent = parent_directory(path);
  return parent != path ? free_bytes_of_disk(parent) : 0;
}

}  // namespace

void CacheDirectory::check_limit(const CacheSettings& settings) {
  if (settings.limit_bytes == 0 || settings.limit_bytes >= k_least_limit) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the limit of the cache is {} bytes, which is too little", settings.limit_bytes),
              {.hint = fmt::format("give BALE_CACHE_LIMIT at least {}MiB", k_least_limit >> 20)});
}

std::uint64_t CacheDirectory::default_limit(const std::string& path, std::uint64_t used) {
  return (free_bytes_of_disk(path) + used) / 10 * 9;
}

CacheDirectory::CacheDirectory(const CacheSettings& settings, bool is_managed)
    : path_((check_limit(settings), prepare_cache(settings.directory))),
      limit_bytes_(settings.limit_bytes),
      slots_(join_path(path_, "slots")),
      usage_(join_path(path_, "usage"), slots_),
      orders_(join_path(path_, "orders")) {
  if (slots_.token() == 0) {
    throw Error(ErrorCode::io, "more than 255 processes use the cache, or its file system has no locks",
                {.path = path_, .hint = "name another directory in BALE_CACHE_DIR"});
  }
  remove_stale_temporaries(path_);              // of who was killed while it made one of the files above
  if (!slots_.has_others()) count(is_managed);  // nothing is being written, so the disk says how full it is
  if (limit_bytes_ != 0) return;
  limit_bytes_ = default_limit(path_, usage_.bytes());
  if (limit_bytes_ >= k_least_limit || is_managed) return;
  throw Error(ErrorCode::io, fmt::format("the disk has room for a cache of {} bytes only", limit_bytes_),
              {.path = path_,
               .hint = fmt::format("free at least {}MiB, or name a directory on another disk in BALE_CACHE_DIR",
                                   k_least_limit >> 20)});
}

CacheDirectory::~CacheDirectory() = default;

/// To look at 600,000 files takes seconds. The recorded number is right unless the machine crashed, or files were
/// removed by hand: that matters only if the limit is near.
void CacheDirectory::count(bool counts_all) {
  const Removal removal(*this);
  const auto is_far_from_limit = [&] {
    return limit_bytes_ == 0 || usage_.bytes() < limit_bytes_ / k_trusted_parts * (k_trusted_parts - 1);
  };
  if (!counts_all && usage_.is_counted() && is_far_from_limit()) {
    usage_.try_count_again([&] { return content_bytes(path_, k_few_files); });
  } else {
    usage_.count_again([&] { return content_bytes(path_); });
  }
}

std::string CacheDirectory::files() const { return join_path(path_, "files"); }
std::string CacheDirectory::lock_path() const { return join_path(path_, "lock"); }

std::string CacheDirectory::entry_of(std::string_view identity) {
  DigestStream stream;
  stream.update(as_bytes(identity));
  return digest_text(stream.digest()).substr(std::string_view("xxh3:").size());
}

std::string CacheDirectory::path_of(std::string_view identity, std::string_view suffix) {
  const std::string hash = entry_of(identity);
  const std::string directory = join_path(files(), hash.substr(0, 2));
  if (!name_is_taken(directory)) {
    usage_.reserve(k_unit_bytes);
    // Whoever opens a file in it meets the failure.
    ::mkdir(directory.c_str(), 0700) == 0 ? usage_.stored(k_unit_bytes) : usage_.give_back(k_unit_bytes);
  }
  return join_path(directory, hash + std::string(suffix));
}

std::uint64_t CacheDirectory::capacity() const { return limit_bytes_ - limit_bytes_ / k_spare_part - k_spare_bytes; }

std::uint64_t CacheDirectory::free_bytes() const {
  return is_full_ ? 0 : capacity() - std::min(capacity(), usage_.bytes());
}

bool CacheDirectory::reserve(std::uint64_t bytes) {
  const std::uint64_t most = capacity();
  if (bytes > most || is_full_) return false;
  if (usage_.reserve(bytes) <= most) return true;
  evict(most, most - most / k_slack);
  if (usage_.bytes() <= most) return true;
  give_back(bytes);
  return false;
}

Tick CacheDirectory::now() {
  using Ticks = std::chrono::duration<std::int64_t, std::ratio<1, k_ticks_per_second>>;
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<Tick>(std::chrono::duration_cast<Ticks>(since_epoch).count());
}

void CacheDirectory::set_full(const Error& failure) {
  if (is_full_.exchange(true)) return;
  if (!is_full_disk(failure.context().system_error)) {
    warn_of_cache(std::string(failure.what()) + "; this run caches nothing more");
    return;
  }
  warn_of_cache(
      fmt::format("{}: the disk of the cache is full, so this run caches nothing more; free some space on it, or give "
                  "BALE_CACHE_LIMIT less than it has",
                  printable(path_)));
}

/// Unless at most `enough` bytes are reserved, removes content until at most `down_to` are. One process at a time does;
/// the others wait.
void CacheDirectory::evict(std::uint64_t enough, std::uint64_t down_to) {
  const std::lock_guard in_process(evict_mutex_);
  const Removal removal(*this);
  remove_stale_temporaries(path_);
  const std::uint64_t used = usage_.bytes();
  if (used <= enough) return;  // another one made room in the meantime
  usage_.removed(bale::evict(files(), used - down_to, orders_, now(), slots_.token()));
}

/// Carries on what a killed process left undone.
CacheDirectory::Removal::Removal(CacheDirectory& cache) : lock_(cache.lock_path()), usage_(cache.usage_) {
  const bool was_killed = usage_.sweep();
  usage_.begin_removal();
  if (!was_killed) return;
  remove_abandoned(cache.files(), cache.slots_);
  usage_.count_again([&] { return content_bytes(cache.path_); });
}

}  // namespace bale
