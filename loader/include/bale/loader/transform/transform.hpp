// Transform: how a stored image becomes a row of a batch: a list of transforms, and the form of the result.
//
// Names and defaults are torchvision's if it has any. The functions below make Transforms. Form, type and
// normalization may then be changed; what follows from the list may not.
// Threads: plain values and pure functions; may be called from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "bale/formats/image/pixel_mode.hpp"
#include "bale/formats/image/resample/resizer.hpp"

namespace bale {

struct TransformNode;  // transforms.hpp
struct CheckedList;    // transforms.hpp

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

struct Transform {
  enum class Shape : std::uint8_t {
    fixed,   // all images of a batch have one size
    ragged,  // the image, unscaled; each row has its own size
    raw,     // the stored bytes, not decoded
  };

  std::shared_ptr<const CheckedList> list{};  // never null in a Transform that was made below; never changed

  // Follows from the list.
  Shape shape = Shape::fixed;
  std::uint32_t width = 0;  // of the output in pixels, 1..65535; 0 for ragged and raw
  std::uint32_t height = 0;
  bool pads = false;          // the list has PadTo: pixels outside the image are zeros of the batch
  bool ends_in_gray = false;  // RGB becomes gray before the end of the list, and the batch has one channel

  PassOrder pass_order = PassOrder::pillow_13;
  DType dtype = DType::uint8;
  PixelLayout layout = PixelLayout::nhwc;
  bool normalize = false;  // float types: (value / 255 - mean) / stddev; false: value / 255
  std::array<float, 4> mean{0.485F, 0.456F, 0.406F, 0};  // one per channel; ImageNet's
  std::array<float, 4> stddev{0.229F, 0.224F, 0.225F, 0};

  PixelMode mode = PixelMode::rgb;  // of the image when the transform begins; not of raw

  /// Whether all images of a batch have the same size.
  bool has_fixed_shape() const { return shape == Shape::fixed; }
  /// Channels of an image in a batch.
  std::uint32_t channels() const { return ends_in_gray && mode == PixelMode::rgb ? 1 : mode_channels(mode); }
  /// Bytes of one image in a batch; 0 for ragged and raw.
  std::size_t image_bytes() const;
};

/// A list of transforms. Size, type and normalization of the batch are those at the end of the list. Throws
/// `invalid_argument`, naming the place in the list, if a value is out of range, if the order cannot be run, if the
/// images after the list have no fixed size, or if images of that mode cannot take one of the transforms. A list for
/// another shape than fixed has no transforms but, for ragged, ToDtype and Normalize.
Transform list_transform(std::vector<TransformNode> list, PixelLayout layout = PixelLayout::nhwc,
                         PassOrder pass_order = PassOrder::pillow_13, PixelMode mode = PixelMode::rgb,
                         Transform::Shape shape = Transform::Shape::fixed);
/// The same of the JSON that parse_transforms() reads. Throws also what that throws.
Transform json_transform(std::string_view list, PixelLayout layout = PixelLayout::nhwc,
                         PassOrder pass_order = PassOrder::pillow_13, PixelMode mode = PixelMode::rgb,
                         Transform::Shape shape = Transform::Shape::fixed);

// Lists that many use. All throw as list_transform() does.

/// RandomResizedCrop(size) and RandomHorizontalFlip().
Transform train_transform(std::uint32_t size = 224);
/// Resize(resize_short) and CenterCrop(size). A resize_short of 0 means size * 256 / 224, rounded; it is at least
/// `size`.
Transform val_transform(std::uint32_t size = 224, std::uint32_t resize_short = 0);
/// PadTo((height, width)): the image, unscaled, at the top left, zeros elsewhere; larger ones are bad samples.
Transform padded_transform(std::uint32_t height, std::uint32_t width);
Transform ragged_transform();
Transform raw_transform();

/// Throws `invalid_argument`, naming the option, if a value is out of range or contradicts another.
void check_transform(const Transform& transform);

}  // namespace bale
