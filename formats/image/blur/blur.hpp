// Blurs of RGB pixels. Internal.
//
// Threads: a Blurrer reuses its memory and is used by one thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "bale/formats/image/codec/raster.hpp"

namespace bale::image_detail {

/// A box of 2 * radius + 1 pixels, whose ends count for `edge` more pixels: weights in 24-bit fixed point.
struct ExtendedBox {
  std::uint32_t radius = 0;
  std::uint32_t weight = 0;
  std::uint32_t edge_weight = 0;
};

/// The box that gives a Gaussian of standard deviation `sigma` if it is applied three times, as Pillow computes it.
/// `identity` if it would change nothing.
struct GaussianBoxes {
  ExtendedBox box;
  bool identity = false;
};
GaussianBoxes gaussian_boxes(double sigma);

class Blurrer {
 public:
  /// Pillow's ImageFilter.GaussianBlur(radius), bit for bit: in each direction three passes of a box, each rounded to 8
  /// bits. Source: Pillow's BoxBlur.c.
  void pillow_gaussian(std::uint8_t* rgb, std::uint32_t width, std::uint32_t height, double radius);

  /// torchvision's gaussian_blur. It sums the products of a two-dimensional kernel in float32, in an order that depends
  /// on the CPU; here the two directions are summed one after the other, in float32 too. Values whose exact result is
  /// close to the middle of two bytes can differ by 1.
  void gaussian(const Raster& source, std::uint32_t kernel_width, std::uint32_t kernel_height, double sigma_x,
                double sigma_y, std::uint8_t* out);

  /// Pillow's ImageEnhance.Sharpness: blends with the image after ImageFilter.SMOOTH, bit for bit.
  void sharpen(const Raster& source, double factor, std::uint8_t* out);

 private:
  std::vector<std::uint8_t> bytes_;
  std::vector<float> floats_;
  std::vector<float> kernels_;
};

}  // namespace bale::image_detail
