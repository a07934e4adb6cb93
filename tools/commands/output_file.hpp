// A file that a command writes beside what it prints: a page, a picture, a list.
#pragma once

#include <string>

namespace bale::tools {

/// Throws `invalid_argument` for the name of a remote file, and `exists` if there is a file of that name and not
/// `force`. An empty name is none.
void require_free_name(const std::string& path, bool force);

}  // namespace bale::tools
