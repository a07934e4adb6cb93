// RemoteCache: the cache of remote files, for programs that show and tend it. Also what is wrong with it, and where it
// may not lie.
//
// It is the cache of the environment: BALE_CACHE_DIR (default: $XDG_CACHE_HOME/bale or ~/.cache/bale; "none": no cache)
// and BALE_CACHE_LIMIT, a size such as "200GiB" (default: nine tenths of what is free or already in it). A process
// reads them when it opens its first remote file.
//
// Threads: a RemoteCache is used by one thread at a time. Processes: all functions work while others use the cache.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "bale/formats/base/progress.hpp"

namespace bale {

/// Called with one line, at most once per process, if the cache cannot be used or is full: what is wrong and what to
/// do. Remote files are read all the same, without it. Any thread may call it: it must not block for long or throw. Set
/// it before remote files are opened.
void set_cache_warning_handler(std::function<void(const std::string& line)> handler);

/// Throws `invalid_argument` if the cache is `place`, lies in it or contains it: a folder that is packed, or a
/// destination. `place` may be a remote name, which is ignored. Checked if BALE_CACHE_DIR names the cache.
void require_apart_from_cache(const std::string& place);
/// The same if the cache is `place` or contains it: a packed dataset, of which only its own files are read.
void require_outside_cache(const std::string& place);

/// Files whose content must not stay in the cache: digests of shards as manifests name them ("xxh3:..."), and sizes in
/// bytes, by which those go of which it is not known what they belong to.
struct UnwantedFiles {
  std::set<std::string> digests{};
  std::set<std::uint64_t> sizes{};
};
/// Removes all that the cache has of them, whatever their names are, and all that was made from any file. Returns the
/// bytes removed. Does nothing if there is no cache. Throws what RemoteCache() throws.
std::uint64_t remove_from_cache(const UnwantedFiles& unwanted);

/// Throws `invalid_argument` if this process has opened a remote file, so that its cache is settled.
void require_cache_unused();
/// Throws `invalid_argument` if the settings of the environment are not settings: a limit that is not a size, or too
/// small.
void check_cache_settings();

class RemoteCache {
 public:
  struct File {
    std::string name;         // without what may be secret; empty for a version that no name stands for any more
    std::uint64_t bytes = 0;  // of the file
    std::uint64_t cached_bytes = 0;
    std::int64_t last_use_s = 0;  // when a process last began to use it, in seconds since 1970; 0: unknown
  };
  struct Damage {
    std::string name;         // as File::name
    std::uint64_t bytes = 0;  // that were wrong, and are no longer in the cache
  };
  struct CheckReport {
    std::uint64_t num_files = 0;
    std::uint64_t num_bytes = 0;  // compared
    std::vector<Damage> damages;
  };

  /// Opens the cache. If there is none, it is empty, and nothing is made. Throws `invalid_argument` if it is turned
  /// off, or for a limit that is not a size or too small, and `io`.
  RemoteCache();
  ~RemoteCache();
  RemoteCache(RemoteCache&&) noexcept;
  RemoteCache& operator=(RemoteCache&&) noexcept;

  const std::string& directory() const;
  std::uint64_t limit_bytes() const;
  /// What is there and what is reserved, with maps.
  std::uint64_t used_bytes() const;
  /// All files, by name.
  std::vector<File> files() const;
  /// Compares everything with its checksum and drops what is wrong. Progress: bytes and total_bytes. Throws
  /// `interrupted` if its stop flag is set.
  CheckReport check(Progress& progress);
  /// Removes the content that would be evicted first, until at most `down_to` bytes are used. Returns the bytes
  /// removed.
  std::uint64_t trim(std::uint64_t down_to);
  /// Removes everything. Returns the bytes removed.
  std::uint64_t clear();

 private:
  friend std::uint64_t remove_from_cache(const UnwantedFiles& unwanted);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bale
