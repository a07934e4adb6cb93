// The errors of codecs' libraries that say what is wrong in text only; internal.
#pragma once

#include <string_view>

namespace bale::image_detail {

/// Throws std::bad_alloc if the library lacked memory, `unsupported` if it met something that it does not know or was
/// built without, else `damaged`: "KIND: TEXT".
[[noreturn]] void fail_as_library_says(std::string_view kind, std::string_view text);

}  // namespace bale::image_detail
