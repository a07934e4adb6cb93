// Step: one change to an image with all its parameters known. A list of random transforms is drawn into a list of
// steps; running the steps involves no chance. So a drawn list can be recorded, printed and repeated by other software.
//
// Names and parameters are those of torchvision.transforms.functional; the pixels are those that it gives for PIL
// images. Threads: plain values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "bale/formats/image/region.hpp"
#include "bale/formats/image/resample/resizer.hpp"

namespace bale {

/// Red, green, blue.
using Color = std::array<std::uint8_t, 3>;

namespace step {

/// The rectangle of `width` x `height` pixels at (left, top). What lies outside the image is black.
struct Crop {
  std::int32_t left = 0;
  std::int32_t top = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  friend bool operator==(const Crop&, const Crop&) = default;
};

/// Adds pixels at the four sides.
struct Pad {
  std::uint32_t left = 0;
  std::uint32_t top = 0;
  std::uint32_t right = 0;
  std::uint32_t bottom = 0;
  PadMode mode = PadMode::constant;
  Color fill{};
  friend bool operator==(const Pad&, const Pad&) = default;
};

/// Resizes to width x height pixels: Image.resize.
struct Resize {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  Filter filter = Filter::bilinear;
  PassOrder pass_order = PassOrder::pillow_13;
  friend bool operator==(const Resize&, const Resize&) = default;
};

struct HorizontalFlip {
  friend bool operator==(const HorizontalFlip&, const HorizontalFlip&) = default;
};
struct VerticalFlip {
  friend bool operator==(const VerticalFlip&, const VerticalFlip&) = default;
};

/// Image.rotate: counterclockwise by `angle` degrees about `center` (x, y), or about the middle. `expand` makes the
/// image as large as the turned one needs.
struct Rotate {
  double angle = 0;
  Sampling sampling = Sampling::nearest;
  bool expand = false;
  std::optional<std::array<double, 2>> center{};
  Color fill{};
  friend bool operator==(const Rotate&, const Rotate&) = default;
};

/// Image.transform(size, AFFINE, matrix): output pixel (x, y) is taken from (ax + by + c, dx + ey + f). The size stays.
struct Affine {
  std::array<double, 6> matrix{1, 0, 0, 0, 1, 0};
  Sampling sampling = Sampling::nearest;
  Color fill{};
  friend bool operator==(const Affine&, const Affine&) = default;
};

/// Image.transform(size, PERSPECTIVE, coefficients). The size stays.
struct Perspective {
  std::array<double, 8> coefficients{1, 0, 0, 0, 1, 0, 0, 0};
  Sampling sampling = Sampling::bilinear;
  Color fill{};
  friend bool operator==(const Perspective&, const Perspective&) = default;
};

/// adjust_brightness, adjust_contrast, adjust_saturation, adjust_sharpness: blends with black, with the mean gray, with
/// the gray image, with the smoothed image. A factor of 1 changes nothing.
struct Brightness {
  double factor = 1;
  friend bool operator==(const Brightness&, const Brightness&) = default;
};
struct Contrast {
  double factor = 1;
  friend bool operator==(const Contrast&, const Contrast&) = default;
};
struct Saturation {
  double factor = 1;
  friend bool operator==(const Saturation&, const Saturation&) = default;
};
struct Sharpness {
  double factor = 1;
  friend bool operator==(const Sharpness&, const Sharpness&) = default;
};
/// adjust_hue by `turn` of the color circle, within [-0.5, 0.5]. A turn of 0 still converts to 8-bit HSV and back.
struct Hue {
  double turn = 0;
  friend bool operator==(const Hue&, const Hue&) = default;
};
/// rgb_to_grayscale(image, 3).
struct Grayscale {
  friend bool operator==(const Grayscale&, const Grayscale&) = default;
};
struct Invert {
  friend bool operator==(const Invert&, const Invert&) = default;
};
/// Inverts values that are not below `threshold`: ImageOps.solarize.
struct Solarize {
  double threshold = 128;
  friend bool operator==(const Solarize&, const Solarize&) = default;
};
/// timm's SolarizeAdd: adds `add` to values below `threshold`, at most 255.
struct SolarizeAdd {
  std::int32_t add = 0;
  std::int32_t threshold = 128;
  friend bool operator==(const SolarizeAdd&, const SolarizeAdd&) = default;
};
/// Keeps the upper `bits` bits, 0 to 8: ImageOps.posterize.
struct Posterize {
  std::uint32_t bits = 8;
  friend bool operator==(const Posterize&, const Posterize&) = default;
};
struct Equalize {
  friend bool operator==(const Equalize&, const Equalize&) = default;
};
struct AutoContrast {
  friend bool operator==(const AutoContrast&, const AutoContrast&) = default;
};
/// The output's channel i is the input's channel order[i].
struct PermuteChannels {
  std::array<std::uint8_t, 3> order{0, 1, 2};
  friend bool operator==(const PermuteChannels&, const PermuteChannels&) = default;
};
/// torchvision's gaussian_blur: a separable kernel of odd sides in float32, edges reflected.
struct GaussianBlur {
  std::uint32_t kernel_width = 3;
  std::uint32_t kernel_height = 3;
  double sigma_x = 1;
  double sigma_y = 1;
  friend bool operator==(const GaussianBlur&, const GaussianBlur&) = default;
};
/// Pillow's ImageFilter.GaussianBlur(radius): three extended box blurs. What DINO, BYOL and MoCo v3 use.
struct PillowGaussianBlur {
  double radius = 2;
  friend bool operator==(const PillowGaussianBlur&, const PillowGaussianBlur&) = default;
};

/// Overwrites a rectangle. If `converted`, after the conversion to the batch's dtype, as torchvision's RandomErasing
/// does behind Normalize; else in the 8-bit image.
struct Erase {
  enum class With : std::uint8_t {
    value,          // `value`, one number per channel
    channel_noise,  // one normal number per channel: timm's mode "rand"
    pixel_noise,    // normal numbers: timm's mode "pixel", torchvision's value="random"
  };
  std::uint32_t left = 0;
  std::uint32_t top = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  With with = With::value;
  std::array<float, 3> value{};
  std::uint64_t noise_seed = 0;
  bool converted = true;
  friend bool operator==(const Erase&, const Erase&) = default;
};

/// What follows changes boxes only, as torchvision's transforms of these names.

/// A box whose center is not inside the rectangle of `width` x `height` pixels at (left, top) becomes 0, 0, 0, 0. That
/// is what RandomIoUCrop does before its Crop.
struct ZeroBoundingBoxes {
  std::uint32_t left = 0;
  std::uint32_t top = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  friend bool operator==(const ZeroBoundingBoxes&, const ZeroBoundingBoxes&) = default;
};
/// Clips boxes at the edges of the image.
struct ClampBoundingBoxes {
  friend bool operator==(const ClampBoundingBoxes&, const ClampBoundingBoxes&) = default;
};
/// Drops boxes whose width or height is below `min_size` pixels, whose area is below `min_area`, or that reach over an
/// edge of the image. No other step drops any.
struct SanitizeBoundingBoxes {
  double min_size = 1;
  double min_area = 1;
  friend bool operator==(const SanitizeBoundingBoxes&, const SanitizeBoundingBoxes&) = default;
};

struct Mixture;

}  // namespace step

using Step = std::variant<step::Crop, step::Pad, step::Resize, step::HorizontalFlip, step::VerticalFlip, step::Rotate,
                          step::Affine, step::Perspective, step::Brightness, step::Contrast, step::Saturation,
                          step::Sharpness, step::Hue, step::Grayscale, step::Invert, step::Solarize, step::SolarizeAdd,
                          step::Posterize, step::Equalize, step::AutoContrast, step::PermuteChannels,
                          step::GaussianBlur, step::PillowGaussianBlur, step::Erase, step::ZeroBoundingBoxes,
                          step::ClampBoundingBoxes, step::SanitizeBoundingBoxes, step::Mixture>;

namespace step {

/// AugMix. Steps of a chain keep the image's size. "The sum" is that of weights[i] * (image after chains[i]), in
/// float32 in this order.
struct Mixture {
  enum class Rule : std::uint8_t {
    sum,         // torchvision's: share * image + the sum, truncated to 8 bits
    blend,       // timm's: Image.blend(image, the sum alone, limited to 255 and truncated to 8 bits, share)
    blend_each,  // timm's "b1": for each chain, the result so far = Image.blend(it, image after chains[i], weights[i])
  };
  Rule rule = Rule::sum;
  float share = 1;  // of the image in `sum`, of the sum in `blend`; unused in `blend_each`
  std::vector<float> weights{};
  std::vector<std::vector<Step>> chains{};
  friend bool operator==(const Mixture&, const Mixture&);
};

}  // namespace step

using Steps = std::vector<Step>;

}  // namespace bale
