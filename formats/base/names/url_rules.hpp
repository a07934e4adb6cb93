// Names of remote files (s3://, https://, gs://) and of commands (pipe:) in places where bale takes local files only.
// It reports this instead of looking for a file of that name. Also where names in a list end.
//
// No side effects but one stat() if a name looks like that; safe in any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bale {

enum class UrlUse : std::uint8_t {
  reading,  // of files, lists and folders
  dataset,  // reading of packed shards: names that the remote storage serves (storage.hpp) are right, too
  writing,
  packing,  // writing of a dataset: s3:// is right, too
};

/// Throws `invalid_argument` for a URL or command, unless a local file has exactly that name, and for a malformed name
/// of a remote dataset.
void require_local_name(std::string_view name, UrlUse use = UrlUse::reading);

/// The name with the current directory before it, so that it stays the same after chdir(). Remote names, absolute paths
/// and "" are returned as they are, and all names if there is no current directory.
std::string absolute_name(const std::string& name);

/// End of the first name in a list that is joined by "::", npos if there is one name. An address in brackets, as in
/// http://[::1]:8080/x, has such colons of its own.
std::size_t end_of_first_name(std::string_view list);

/// Checks the name of a file that a command writes next to what it prints: a page, a picture, a list. Call it before
/// the work. Throws `invalid_argument` for the name of a remote file, `exists` if there is a file of that name and not
/// `force`, and `io` if no file of that name can be made. An empty name is none.
void require_output_file(const std::string& path, bool force);

}  // namespace bale
