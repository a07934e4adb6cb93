// Where the cache of remote files is, how large it may become, and what its user is reported.
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

// Checks of the directory before it is used.

/// Name of the cache in the directory that the user named.
inline constexpr const char* k_cache_name = "bale-cache-1";

/// Makes the cache below `directory`, and what is missing above it, for this user only. Returns its path.
/// Throws `invalid_argument` if `directory` has a packed dataset, and `io` if the cache cannot be made, or if another
/// user could write to it: who can change content and checksums can change what is read. As sshd does, it wants
/// a directory that belongs to this user or to root and is writable by nobody else.
std::string prepare_cache(const std::string& directory);

/// Passes one line to the handler of this process (remote_cache.hpp): the first one, and no other.
void warn_of_cache(const std::string& what);

}  // namespace bale
