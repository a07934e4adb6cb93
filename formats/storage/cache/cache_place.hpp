// Where a cache may lie: checks of its directory before it is used.
#pragma once

#include <string>

namespace bale {

/// Name of the cache in the directory that the user named.
inline constexpr const char* k_cache_name = "bale-cache-1";

/// Makes the cache below `directory`, and what is missing above it, for this user only. Returns its path.
/// Throws `invalid_argument` if `directory` has a packed dataset, and `io` if the cache cannot be made, or if another
/// user could write to it: who can change content and checksums can change what is read. As sshd does, it wants
/// a directory that belongs to this user or to root and is writable by nobody else.
std::string prepare_cache(const std::string& directory);

/// Whether one of two paths is the other or lies in it, with links resolved. Neither has to exist.
bool do_overlap(const std::string& a, const std::string& b);

}  // namespace bale
