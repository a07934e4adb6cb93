// Transform: how a stored image becomes a row of a batch. Names and defaults are torchvision's if it has any.
//
// A Transform is either one of five recipes, whose parameters are its members, or a list of transforms
// (transforms.hpp).
// Threads: plain values and pure functions; may be called from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "bale/formats/image/pixel_mode.hpp"
#include "bale/formats/image/resample/resizer.hpp"

namespace bale {

struct TransformNode;  // transforms.hpp

/// uint16 is for images of 16-bit gray (PixelMode::gray_16), and they have no other.
enum class DType : std::uint8_t { uint8, float16, bfloat16, float32, uint16 };
enum class PixelLayout : std::uint8_t { nhwc, nchw };

/// Size of one value in bytes.
std::size_t dtype_bytes(DType dtype);

/// The closed interval [low, high].
struct Range {
  double low = 0;
  double high = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

/// Color jitter. Factors and the order of the four steps are drawn uniformly. {1, 1}, or {0, 0} for the hue, turns a
/// step off.
struct ColorJitter {
  Range brightness{1, 1};
  Range contrast{1, 1};
  Range saturation{1, 1};
  Range hue{0, 0};  // turns of the color circle, within [-0.5, 0.5]

  /// torchvision.transforms.ColorJitter(b, c, s, h): factors from [max(0, 1 - b), 1 + b], hue from [-h, h].
  static ColorJitter symmetric(double brightness, double contrast, double saturation, double hue);
  /// Whether any step is on.
  bool active() const;

  friend bool operator==(const ColorJitter&, const ColorJitter&) = default;
};

struct Transform {
  enum class Kind : std::uint8_t {
    train,   // RandomResizedCrop, RandomHorizontalFlip, ColorJitter, RandomGrayscale
    val,     // Resize(resize_short), CenterCrop((height, width))
    padded,  // the image, unscaled, at the top left of height x width, zeros elsewhere; larger ones are bad samples
    ragged,  // the image, unscaled; each row has its own size
    raw,     // the stored bytes, not decoded
    list,    // `list`
  };

  Kind kind = Kind::train;
  std::uint32_t width = 224;  // of the output in pixels, 1..65535; ignored by raw and ragged
  std::uint32_t height = 224;

  Filter filter = Filter::bilinear;
  PassOrder pass_order = PassOrder::pillow_13;
  std::uint32_t resize_short = 256;  // val: shorter side after resizing; at least as long as the crop's sides

  Range scale{0.08, 1.0};         // train: area of the crop, as a share of the image's
  Range ratio{3.0 / 4, 4.0 / 3};  // train: width / height
  double flip_probability = 0.5;  // train
  ColorJitter jitter{};           // train
  double gray_probability = 0;    // train

  DType dtype = DType::uint8;
  PixelLayout layout = PixelLayout::nhwc;
  bool normalize = false;  // float types: (value / 255 - mean) / stddev; false: value / 255
  std::array<float, 4> mean{0.485F, 0.456F, 0.406F, 0};  // one per channel; ImageNet's
  std::array<float, 4> stddev{0.229F, 0.224F, 0.225F, 0};

  PixelMode mode = PixelMode::rgb;  // of the image when the transform begins; not of raw
  bool one_channel = false;         // list: rgb becomes gray before its end, and the batch has one channel

  /// For list, see list_transform(); never changed. Null for other kinds.
  std::shared_ptr<const std::vector<TransformNode>> list{};

  /// Whether all images of a batch have the same size.
  bool has_fixed_shape() const { return kind != Kind::ragged && kind != Kind::raw; }
  /// Channels of an image in a batch.
  std::uint32_t channels() const { return one_channel ? 1 : mode_channels(mode); }
  /// Bytes of one image in a batch; 0 for ragged and raw.
  std::size_t image_bytes() const;
};

/// RandomResizedCrop(size) and RandomHorizontalFlip().
Transform train_transform(std::uint32_t size = 224);
/// Resize(resize_short) and CenterCrop(size). A resize_short of 0 means size * 256 / 224, rounded.
Transform val_transform(std::uint32_t size = 224, std::uint32_t resize_short = 0);
Transform padded_transform(std::uint32_t height, std::uint32_t width);
Transform ragged_transform();
Transform raw_transform();

/// A list of transforms. Size, type and normalization of the batch are those at the end of the list. Throws
/// `invalid_argument`, naming the place in the list, if a value is out of range, if the order cannot be run, or if the
/// images after the list have no fixed size, or if images of that mode cannot take one of the transforms.
Transform list_transform(std::vector<TransformNode> list, PixelLayout layout = PixelLayout::nhwc,
                         PassOrder pass_order = PassOrder::pillow_13, PixelMode mode = PixelMode::rgb);

/// Throws `invalid_argument`, naming the option, if a value is out of range or contradicts another.
void check_transform(const Transform& transform);

}  // namespace bale
