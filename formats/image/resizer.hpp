// Resizer: Pillow's antialiased resampling, bit for bit, by SIMD chosen at run time, with memory that is reused.
//
// For one thread at a time.
#pragma once

#include <memory>

#include "bale/formats/image/region.hpp"

namespace bale {

enum class Filter : std::uint8_t { bilinear, bicubic };

/// Which pass comes first changes the rounding, and so the pixels.
enum class PassOrder : std::uint8_t {
  pillow_13,  // rows first where the height shrinks by more than twice as many pixels as the width does, else columns
  pillow_12,  // columns first, always: Pillow up to 12.x
};

/// An image of source_width x source_height pixels resized to width x height, of which `window` is wanted.
struct ResizeSpec {
  std::uint32_t source_width = 0;
  std::uint32_t source_height = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  Region window{};
  Filter filter = Filter::bilinear;
  PassOrder pass_order = PassOrder::pillow_13;
  bool mirror = false;  // window's columns written from right to left
};

/// The whole of the resized image.
ResizeSpec resize_whole(std::uint32_t source_width, std::uint32_t source_height, std::uint32_t width,
                        std::uint32_t height);
/// torchvision's Resize(resize_short), then CenterCrop(width x height) of it; throws `unsupported` for images so
/// long and thin that the resized one would be beyond reason. Where the resized image is smaller than the crop, throws
/// `invalid_argument`: resize_short must be at least as long as the crop's sides.
ResizeSpec resize_short_and_center_crop(std::uint32_t source_width, std::uint32_t source_height,
                                        std::uint32_t resize_short, std::uint32_t width, std::uint32_t height);

/// The part of the source that the window is made of. Throws `invalid_argument` for sizes of nothing, beyond reason, or
/// a window that is not inside the resized image.
Region resize_needs(const ResizeSpec& spec);

class Resizer {
 public:
  Resizer();
  ~Resizer();
  Resizer(Resizer&&) noexcept;
  Resizer& operator=(Resizer&&) noexcept;

  /// Writes window.height rows of window.width RGB pixels to `out`, rows `out_stride` bytes apart and nothing between
  /// them touched. `source` holds the pixels of resize_needs(spec). Throws `invalid_argument` where the sizes
  /// contradict each other.
  void run(const ResizeSpec& spec, const PixelView& source, std::uint8_t* out, std::size_t out_stride);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bale
