// What one look at an image's bytes shows, and what its owner may want to know about it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/image/jpeg/header/jpeg_markers.hpp"
#include "bale/formats/image/similarity/thumbprint.hpp"

namespace bale {

/// Something about an image that its owner may want to know.
enum class Remark : std::uint8_t {
  // The image cannot be used.
  unreadable,    // the sample cannot be read
  no_image,      // the sample has no image field, or an empty one
  unknown_kind,  // bytes that are not an image of a known kind
  truncated,     // the image ends too early
  undecodable,   // another error of the decoder
  above_limit,   // more pixels than SurveyOptions::max_pixels
  // It may be wrong.
  corrupt_data,     // decoders tolerate it: pixels may be wrong
  wrong_extension,  // named as another kind than it is
  blank,            // next to no contrast
  tiny,             // a side below k_tiny_side
  huge,             // more pixels than k_huge_pixels
  elongated,        // one side at least k_elongated times the other
  gray,             // without colors
  cmyk,             // a JPEG of four components
  oriented,         // metadata say that it has to be turned or mirrored
  arithmetic,       // a JPEG coded arithmetically, which many programs do not read
};

inline constexpr unsigned k_num_remarks = static_cast<unsigned>(Remark::arithmetic) + 1;
inline constexpr std::uint32_t k_tiny_side = 32;
inline constexpr std::uint64_t k_huge_pixels = 25'000'000;
inline constexpr std::uint32_t k_elongated = 5;

/// "truncated", "wrong_extension", ... A literal.
std::string_view remark_name(Remark remark);
/// "Ends too early", ... A literal.
std::string_view remark_title(Remark remark);
/// Why it matters, in a sentence. A literal.
std::string_view remark_reason(Remark remark);
/// Whether the image cannot be used.
constexpr bool is_corrupt(Remark remark) { return remark <= Remark::above_limit; }

/// A set of remarks.
class Remarks {
 public:
  void add(Remark remark) { bits_ = static_cast<std::uint16_t>(bits_ | mask(remark)); }
  void remove(Remark remark) { bits_ = static_cast<std::uint16_t>(bits_ & ~mask(remark)); }
  bool has(Remark remark) const { return (bits_ & mask(remark)) != 0; }
  bool has_corrupt() const { return (bits_ & (mask(Remark::above_limit) * 2 - 1)) != 0; }

 private:
  static constexpr unsigned mask(Remark remark) { return 1U << static_cast<unsigned>(remark); }
  static_assert(k_num_remarks <= 16);
  std::uint16_t bits_ = 0;
};

struct ExaminedImage {
  Digest digest{};  // of the bytes
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;   // FrequencyHash::bits of the whole image; meaningless if it is blank
  std::uint32_t width = 0;  // in pixels; 0: unknown
  std::uint32_t height = 0;
  JpegCoding coding{};  // of a JPEG
  ImageKind kind = ImageKind::unknown;
  std::uint8_t orientation = 1;  // of its metadata, 1..8
  Remarks remarks{};
  bool is_decoded = false;  // `hash` and `print` are there
  Thumbprint print{};
  std::string why{};  // the decoder's message, if it cannot be used
};

/// Reads headers and metadata, and decodes the image at reduced size. `name` is that of its field, or an extension:
/// "jpg". Throws only `std::bad_alloc`.
ExaminedImage examine_image(Bytes image, std::string_view name, std::uint64_t max_pixels);

}  // namespace bale
