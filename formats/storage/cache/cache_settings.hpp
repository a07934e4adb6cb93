// Where the cache of remote files lies, and how large it may become.
#pragma once

#include <cstdint>
#include <string>

namespace bale {

struct CacheSettings {
  std::string directory;          // empty: remote files are not cached
  std::uint64_t limit_bytes = 0;  // 0: nine tenths of what is free or already in the cache
};

/// From the environment. BALE_CACHE_DIR: the directory, by default $XDG_CACHE_HOME/bale or ~/.cache/bale; "none" turns
/// the cache off. BALE_CACHE_LIMIT: a size such as "200GiB", by default 0.
/// Throws `invalid_argument` for a limit that is not a size.
CacheSettings cache_settings();
/// Whether BALE_CACHE_DIR names the directory.
bool is_cache_named();

}  // namespace bale
