// Entries of a directory: all of them, or an error. A listing that failed midway is never taken for a whole one.
#pragma once

#include <cerrno>
#include <filesystem>
#include <functional>
#include <string>

namespace bale {

/// Whether a system error (errno) says that nothing is at a path, rather than that this is unknown.
inline bool says_absent(int error) {
  return error == ENOENT || error == ENOTDIR || error == ELOOP || error == ENAMETOOLONG;
}

/// Calls `each` for every entry, in the file system's order. Throws `io` if the directory cannot be listed to its end.
void for_each_entry(const std::string& directory,
                    const std::function<void(const std::filesystem::directory_entry&)>& each);

/// Whether the entry, or what it links to, is a regular file. Throws `io` if that is unknown.
bool is_file(const std::filesystem::directory_entry& entry);

}  // namespace bale
