// Excerpt: what a message shows of a text that may be as long as a stranger's file likes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bale {

/// `text`, or of one that is longer than `most` its head and its tail, with its length between them: at most `most`
/// bytes and some 40 for the length. Characters of valid UTF-8 stay whole.
std::string excerpt(std::string_view text, std::size_t most);

}  // namespace bale
