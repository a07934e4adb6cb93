// What one look at an image's bytes shows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/image/jpeg/header/jpeg_markers.hpp"
#include "bale/formats/image/similarity/thumbprint.hpp"
#include "bale/tools/survey/remark.hpp"

namespace bale {

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
