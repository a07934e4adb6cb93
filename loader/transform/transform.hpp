// Transform: what becomes of an image on its way into a batch. A plain value, the same in every process.
//
// The defaults are torchvision's; so are the names, where it has any.
#pragma once

#include <array>
#include <cstdint>

#include "bale/formats/image/resizer.hpp"

namespace bale {

enum class DType : std::uint8_t { uint8, float16, bfloat16, float32 };
enum class PixelLayout : std::uint8_t { nhwc, nchw };

std::size_t dtype_bytes(DType dtype);

struct Range {
  double low = 0;
  double high = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

/// Factors are drawn uniformly; {1, 1} (hue {0, 0}) leaves that adjustment out. The order of the four is drawn too.
struct ColorJitter {
  Range brightness{1, 1};
  Range contrast{1, 1};
  Range saturation{1, 1};
  Range hue{0, 0};  // turns of the colour circle, within [-0.5, 0.5]

  /// torchvision.transforms.ColorJitter(b, c, s, h): factors from [max(0, 1 - b), 1 + b], hue from [-h, h].
  static ColorJitter symmetric(double brightness, double contrast, double saturation, double hue);
  bool active() const;

  friend bool operator==(const ColorJitter&, const ColorJitter&) = default;
};

struct Transform {
  enum class Kind : std::uint8_t {
    train,   // RandomResizedCrop, flip, ColorJitter, grey
    eval,    // Resize(resize_short), CenterCrop
    padded,  // decoded as it is into the top left of height x width, zeros elsewhere; larger images are bad samples
    ragged,  // decoded as it is, each of its own size
    raw,     // the stored bytes
  };

  Kind kind = Kind::train;
  std::uint32_t width = 224;  // of the output; nothing to raw and ragged
  std::uint32_t height = 224;

  Filter filter = Filter::bilinear;
  PassOrder pass_order = PassOrder::pillow_13;
  std::uint32_t resize_short = 256;  // eval

  Range scale{0.08, 1.0};         // train: share of the image's area
  Range ratio{3.0 / 4, 4.0 / 3};  // train: width / height
  double flip_probability = 0.5;  // train
  ColorJitter jitter{};           // train
  double grey_probability = 0;    // train

  DType dtype = DType::uint8;
  PixelLayout layout = PixelLayout::nhwc;
  bool normalise = false;  // float types: (value / 255 - mean) / stddev; else value / 255
  std::array<float, 3> mean{0.485F, 0.456F, 0.406F};
  std::array<float, 3> stddev{0.229F, 0.224F, 0.225F};

  bool has_fixed_shape() const { return kind != Kind::ragged && kind != Kind::raw; }
  /// Bytes of one image in a batch; 0 where each has its own size.
  std::size_t image_bytes() const;
};

Transform train_transform(std::uint32_t size = 224);
/// Resize(resize_short), CenterCrop(size); resize_short 0: size * 256 / 224, rounded, the usual relation.
Transform eval_transform(std::uint32_t size = 224, std::uint32_t resize_short = 0);
Transform padded_transform(std::uint32_t height, std::uint32_t width);
Transform ragged_transform();
Transform raw_transform();

/// Throws `invalid_argument`, naming the option, for values that make no sense together.
void check_transform(const Transform& transform);

}  // namespace bale
