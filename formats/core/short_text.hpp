// Texts of bounded length for messages: a name in a hostile container can have any length.
#pragma once

#include <string>
#include <string_view>

namespace bale {

/// `text`, or its beginning and its size if it has more than `max_bytes` bytes. UTF-8 sequences stay whole.
std::string shortened(std::string_view text, std::size_t max_bytes = 300);

}  // namespace bale
