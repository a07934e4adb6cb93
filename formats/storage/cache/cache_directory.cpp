#include "bale/formats/storage/cache/cache_directory.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>


#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/storage/cache/cache_place.hpp"
#include "bale/formats/storage/cache/cache_warning.hpp"
#include "bale/formats/storage/cache/eviction.hpp"
#include "bale/formats/storage/cache/shared_file.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_slack = 32;  // a removal makes room for this part of the limit, so that it is rarely needed

std::uint64_t free_bytes(const std::string& path) {
  struct statvfs disk {};
  return ::statvfs(path.c_str(), &disk) == 0 ? static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize : 0;
}

}  // namespace

struct CacheDirectory::Usage {
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint32_t> clock;
  std::uint32_t unused;
};

void CacheDirectory::check_limit(const CacheSettings& settings) {
  if (settings.limit_bytes == 0 || settings.limit_bytes >= k_least_limit) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the limit of the cache is {} bytes, which is too little", settings.limit_bytes),
              {.hint = fmt::format("give BALE_CACHE_LIMIT at least {}MiB", k_least_limit >> 20)});
}

CacheDirectory::CacheDirectory(const CacheSettings& settings)
    : path_((check_limit(settings), prepare_cache(settings.directory))),
      limit_bytes_(settings.limit_bytes),
      slots_(join_path(path_, "slots")) {
  if (slots_.token() == 0) {
    throw Error(ErrorCode::io, "more than 255 processes use the cache, or its file system has no locks",
                {.path = path_, .hint = "name another directory in BALE_CACHE_DIR"});
  }
  const File file = open_shared_file(join_path(path_, "usage"), sizeof(Usage));
  make_room(file, sizeof(Usage));  // it may have been truncated
  void* const memory = ::mmap(nullptr, sizeof(Usage), PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0);
  if (memory == MAP_FAILED) throw_errno("map", file.path());
  usage_ = static_cast<Usage*>(memory);
  if (!slots_.has_others()) count_again();
  if (limit_bytes_ != 0) return;
  limit_bytes_ = (free_bytes(path_) + usage_->bytes.load()) / 10 * 9;
  if (limit_bytes_ >= k_least_limit) return;
  ::munmap(usage_, sizeof(Usage));
  throw Error(ErrorCode::io, fmt::format("the disk has room for a cache of {} bytes only", limit_bytes_),
              {.path = path_,
               .hint = fmt::format("free at least {}MiB, or name a directory on another disk in BALE_CACHE_DIR",
                                   k_least_limit >> 20)});
}

CacheDirectory::~CacheDirectory() { ::munmap(usage_, sizeof(Usage)); }

std::string CacheDirectory::files() const { return join_path(path_, "files"); }
std::string CacheDirectory::lock_path() const { return join_path(path_, "lock"); }

std::string CacheDirectory::entry_of(std::string_view identity) {
  DigestStream stream;
  stream.update(as_bytes(identity));
  return digest_text(stream.digest()).substr(std::string_view("xxh3:").size());
}

std::string CacheDirectory::path_of(std::string_view identity, std::string_view suffix) const {
  const std::string hash = entry_of(identity);
  const std::string directory = join_path(files(), hash.substr(0, 2));
  ::mkdir(directory.c_str(), 0700);  // whoever opens a file in it meets the failure
  return join_path(directory, hash + std::string(suffix));
}

bool CacheDirectory::reserve(std::uint64_t bytes) {
  if (bytes > limit_bytes_ || is_full_) return false;
  usage_->clock.fetch_add(1);
  if (usage_->bytes.fetch_add(bytes) + bytes <= limit_bytes_) return true;
  evict(limit_bytes_ - limit_bytes_ / k_slack);
  if (usage_->bytes.load() <= limit_bytes_) return true;
  give_back(bytes);
  return false;
}

void CacheDirectory::give_back(std::uint64_t bytes) {
  std::uint64_t used = usage_->bytes.load();
  while (!usage_->bytes.compare_exchange_weak(used, used > bytes ? used - bytes : 0)) {
  }
}

std::uint32_t CacheDirectory::now() const { return usage_->clock.load(std::memory_order_relaxed); }
std::uint64_t CacheDirectory::used_bytes() const { return usage_->bytes.load(); }

void CacheDirectory::set_full() {
  if (is_full_.exchange(true)) return;
  warn_of_cache(fmt::format("{}: the disk of the cache is full, so this run caches nothing more; free some space on it, or give "
                            "BALE_CACHE_LIMIT less than it has",
                            printable(path_)));
}

/// Removes content until at most `down_to` bytes are reserved. One process at a time does; the others wait.
void CacheDirectory::evict(std::uint64_t down_to) {
  const std::lock_guard in_process(evict_mutex_);
  const EvictionLock lock(join_path(path_, "lock"));
  const std::uint64_t used = usage_->bytes.load();
  if (used <= down_to) return;  // another one made room meanwhile
  give_back(evict_least_recently_used(join_path(path_, "files"), used - down_to, slots_.token()));
}

/// Counts what is on the disk: a killed process leaves the number too high. Only while no other process uses the cache.
void CacheDirectory::count_again() {
  const EvictionLock lock(join_path(path_, "lock"));
  usage_->bytes.store(content_bytes(join_path(path_, "files")));
}

}  // namespace bale
