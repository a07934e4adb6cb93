// Resizer: Pillow's antialiased resampling, bit for bit, with SIMD kernels that are chosen at run time.
//
// Threads: a Resizer reuses its memory and is used by one thread at a time. The functions may be called from any
// thread.
// Source: Pillow's Resample.c.
#pragma once

#include <memory>

#include "bale/formats/image/region.hpp"

namespace bale {

/// Pillow's filters. All but `nearest` weigh the pixels below them when an image shrinks.
enum class Filter : std::uint8_t { bilinear, bicubic, nearest, box, hamming, lanczos };

/// The order of the two passes, which changes the rounding and so the pixels.
enum class PassOrder : std::uint8_t {
  pillow_13,  // vertical pass first if the height loses more than twice as many pixels as the width, else horizontal
  pillow_12,  // horizontal pass first, always: Pillow up to 12.x
};

/// Resize an image of source_width x source_height pixels to width x height, and make the part `window` of the result.
struct ResizeSpec {
  std::uint32_t source_width = 0;
  std::uint32_t source_height = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  Region window{};
  Filter filter = Filter::bilinear;
  PassOrder pass_order = PassOrder::pillow_13;
  bool mirror = false;  // write the window mirrored left to right
};

/// The whole resized image.
ResizeSpec resize_whole(std::uint32_t source_width, std::uint32_t source_height, std::uint32_t width,
                        std::uint32_t height);
/// torchvision's Resize(resize_short), then CenterCrop((height, width)). Throws `invalid_argument` if the resized image
/// is smaller than the crop, so resize_short must be at least as long as the sides of the crop. Throws `unsupported` if
/// the longer side would exceed 2^30 pixels.
ResizeSpec resize_short_and_center_crop(std::uint32_t source_width, std::uint32_t source_height,
                                        std::uint32_t resize_short, std::uint32_t width, std::uint32_t height);

/// The part of the source from which the window is computed. Throws `invalid_argument` for sizes of 0 or above 2^30
/// pixels, and for a window that is not inside the resized image.
Region resize_needs(const ResizeSpec& spec);
/// Whether the pass over the rows is the first of the two. Matters only if both sides change.
bool rows_come_first(const ResizeSpec& spec);

class Resizer {
 public:
  Resizer();
  ~Resizer();
  Resizer(Resizer&&) noexcept;
  Resizer& operator=(Resizer&&) noexcept;

  /// Writes window.height rows of window.width pixels to `out`, whose rows start `out_stride` bytes apart. Bytes
  /// between rows are not written. `source` holds the pixels of resize_needs(spec), and no others; those written have
  /// as many bytes (pixel_bytes). One, three and four bytes are channels, each resized by itself; two are a
  /// std::uint16_t. Throws `invalid_argument` if the sizes contradict each other.
  void run(const ResizeSpec& spec, const PixelView& source, std::uint8_t* out, std::size_t out_stride);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bale
