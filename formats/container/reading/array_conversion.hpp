// ArrayConversion: how a value without a file format of its own (a number, an array, a raw image) becomes one. bale
// delivers these as NumPy array files, gray images as PGM: a header, and then the value's own numbers.
//
// Pure functions; safe in any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/bytes.hpp"

namespace bale {

/// `head`, and then `tail_bytes` bytes of the value, which begin after its first `skip`.
struct ArrayConversion {
  std::string extension;  // of an array, or "pgm"
  std::string head;
  std::uint64_t skip = 0;
  std::uint64_t tail_bytes = 0;
  std::uint64_t bytes() const { return head.size() + tail_bytes; }
};

/// NumPy's name of the number type that is called `name` ("uint8" is "|u1"); empty if there is none. "bool" is one.
std::string number_type(std::string_view name);
/// Size in bytes of one number of a type that number_type() returned.
std::uint32_t type_bytes(std::string_view type);

/// An array of this type and shape, whose numbers begin after the first `skip` bytes of the value. nullopt if it has
/// 4 GiB or more.
std::optional<ArrayConversion> array_delivery(std::string_view type, const std::vector<std::uint64_t>& shape,
                                              std::uint64_t skip);

/// The longest front of a value that pillow_delivery() looks at.
inline constexpr std::size_t k_pillow_front_bytes = 512;

/// A raw image as MosaicML and LitData store what Pillow has: u32 width, height and length of the mode, the mode, the
/// bytes of Image.tobytes(). A gray image is a PGM if it `is_image`, the image of its sample. nullopt if the front is
/// malformed, or of a mode that has no whole bytes per pixel.
std::optional<ArrayConversion> pillow_delivery(Bytes front, bool is_image);

}  // namespace bale
