// Optional edits of images before they are packed: resize, apply the EXIF orientation, strip metadata, transcode for
// faster decoding. They apply to a sample's image: its first field with an image's name.
//
// An image that needs no edit is passed on unchanged, byte for byte, without decoding.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bale/formats/image/image_decoder.hpp"
#include "bale/formats/image/jpeg/jpeg_lossless.hpp"
#include "bale/formats/image/resample/resizer.hpp"
#include "bale/formats/shard/sample.hpp"
#include "bale/writer/packer.hpp"

namespace bale {

/// The edits as names and values, for the manifest and the plan; empty if none is requested. With `as_pixels`, no image
/// is encoded.
std::map<std::string, std::string> describe_edits(const ImageEdits& edits, bool as_pixels);

/// Throws `invalid_argument` for edits that contradict each other or have no effect.
void check_edits(const ImageEdits& edits);

/// Throws `invalid_argument` for a sample with a second image (mask.png). The second image is not edited, so it would
/// not match a resized or rotated first one.
void require_one_image(const SampleView& sample);

/// The field of an image of a kind that bale does not encode, if it was resized or turned.
inline constexpr std::string_view k_encoded_field = "png";

/// Edits one sample after another. For one thread.
class ImageEditor {
 public:
  /// With `as_pixels`, a changed image is returned decoded (k_array_field), for layouts that decode anyway. Images of
  /// more than `max_pixels` are not decoded.
  ImageEditor(const ImageEdits& edits, bool as_pixels, std::uint64_t max_pixels)
      : edits_(edits), as_pixels_(as_pixels), max_pixels_(max_pixels) {}

  /// The sample with its image edited. Borrows from `sample`, its buffers and the editor until the next call. Throws
  /// `damaged` or `unsupported` for an image that cannot be edited.
  SampleView apply(const SampleView& sample);

 private:
  bool edit(const FieldView& field);
  bool edit_content(const FieldView& field);
  bool strip(const FieldView& field, const ImageHeader& header);
  Image resized(const Image& image, std::uint32_t width, std::uint32_t height);
  void encode(const FieldView& original, const ImageHeader& header, const Image& image, bool oriented);

  const ImageEdits& edits_;
  bool as_pixels_;
  std::uint64_t max_pixels_;
  Resizer resizer_;
  JpegLossless lossless_;
  std::vector<FieldView> fields_;
  // Of the last edited image.
  std::vector<std::byte> bytes_;
  std::string_view name_;
  std::uint32_t width_ = 0;
  std::uint32_t height_ = 0;
};

}  // namespace bale
