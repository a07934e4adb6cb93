// A file that a command writes next to what it prints: a page, a picture, a list.
#pragma once

#include <string>

namespace bale {

/// Call it before the work. Throws `invalid_argument` for the name of a remote file, `exists` if there is a file of
/// that name and not `force`, and `io` if no file of that name can be made. An empty name is none.
void require_output_file(const std::string& path, bool force);

}  // namespace bale
