#include "bale/formats/image/codec/codec.hpp"

#include <algorithm>
#include <array>
#include <new>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"

namespace bale::image_detail {
namespace {

// A limit that we set is not a lack of memory: "Memory allocation of 9 bytes is beyond the 8 byte limit".
constexpr std::array<std::string_view, 4> k_memory_texts{"emory", "No space for", "ailed to allocate",
                                                         "annot allocate"};
constexpr std::array<std::string_view, 6> k_unknown_texts{"not configured", "not support",        "nsupported",
                                                          "an not handle",  "unhandled critical", "Sorry"};

template <std::size_t n>
bool has_any(std::string_view text, const std::array<std::string_view, n>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

}  // namespace

void fail_as_library_says(std::string_view kind, std::string_view text) {
  if (has_any(text, k_memory_texts) && text.find("limit") == std::string_view::npos) throw std::bad_alloc();
  if (has_any(text, k_unknown_texts)) {
    throw Error(ErrorCode::unsupported, fmt::format("{}: {}", kind, text),
                {.hint = "convert it to a plain PNG or JPEG"});
  }
  throw Error(ErrorCode::damaged, fmt::format("{}: {}", kind, text));
}

}  // namespace bale::image_detail
