// Excerpt: the part of a text that a message shows. A text from a file may be arbitrarily long.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bale {

/// `text` if it has at most `most` bytes. Otherwise its head and tail with its length between them: at most `most`
/// bytes and about 40 for the length. Characters of valid UTF-8 stay whole.
std::string excerpt(std::string_view text, std::size_t most);

}  // namespace bale
