// Boxes in parts of the image's sides, as YOLO and Open Images store them, in pixels.
#pragma once

#include <array>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/metadata/metadata.hpp"
#include "bale/formats/shard/sample.hpp"

namespace bale {

/// The size of the image in pixels that relative coordinates refer to. Throws `unsupported` if it is unknown, or if
/// EXIF says that the image is to be turned: those who drew the boxes may have seen it turned or not.
struct RelativeTo {
  explicit RelativeTo(const SampleView& image) : width(image.width), height(image.height) {
    const FieldView* const file = image.find_image();
    if (file == nullptr || width == 0 || height == 0) {
      throw Error(ErrorCode::unsupported, "boxes in parts of an image whose size is unknown");
    }
    if (exif_orientation(file->bytes) != 1) {
      throw Error(ErrorCode::unsupported, "boxes in parts of an image that is turned by its EXIF orientation",
                  {.hint = "turn the image and its boxes first"});
    }
  }
  double width;
  double height;
};

/// Whether a number is a part of a side. Small excesses are those of rounding.
inline bool is_relative(double number) {
  constexpr double k_tolerance = 0.01;
  return number >= -k_tolerance && number <= 1 + k_tolerance;
}

/// Throws `damaged` for coordinates that are not parts of a side.
inline void check_relative(const std::array<double, 4>& numbers) {
  for (const double number : numbers) {
    if (!is_relative(number)) throw Error(ErrorCode::damaged, "coordinates that are not between 0 and 1");
  }
}

}  // namespace bale
