// What is done to images on their way into a shard, where that was asked for: smaller, the right way up, without
// metadata, coded so that it decodes faster. The field changed is a sample's image: the first of an image's name.
//
// An image that needs nothing is passed on as it is, byte for byte, without being decoded.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bale/formats/image/image_decoder.hpp"
#include "bale/formats/image/resample/resizer.hpp"
#include "bale/formats/shard/sample.hpp"
#include "bale/writer/packer.hpp"

namespace bale {

/// The edits as names and values, for the manifest and the plan; empty where none was asked for. With `as_pixels` no
/// image is encoded.
std::map<std::string, std::string> describe_edits(const ImageEdits& edits, bool as_pixels);

/// Throws `invalid_argument` for edits that contradict each other or would do nothing.
void check_edits(const ImageEdits& edits);

/// Throws `invalid_argument` for a sample with another image beside its first one (mask.png), which stays as it is: if
/// only one of the two is resized or turned, they no longer fit each other.
void require_one_image(const SampleView& sample);

/// Edits one sample after another. For one thread.
class ImageEditor {
 public:
  /// With `as_pixels`, an image that is changed is handed on decoded (k_array_field), for layouts that decode anyway.
  /// Images of more than `max_pixels` are not decoded.
  ImageEditor(const ImageEdits& edits, bool as_pixels, std::uint64_t max_pixels)
      : edits_(edits), as_pixels_(as_pixels), max_pixels_(max_pixels) {}

  /// The sample with its image edited; borrows from `sample`, what that borrows from, and the editor, until the next
  /// call. Throws `damaged` or `unsupported` for an image that cannot be.
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
  std::vector<FieldView> fields_;
  // Of the image edited last.
  std::vector<std::byte> bytes_;
  std::string_view name_;
  std::uint32_t width_ = 0;
  std::uint32_t height_ = 0;
};

}  // namespace bale
