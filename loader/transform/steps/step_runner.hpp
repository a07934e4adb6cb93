// StepRunner: changes a picture by a list of steps, with the pixels of torchvision's functional transforms for PIL
// images.
//
// Bit for bit, on every CPU, except step::GaussianBlur: values can differ by 1, since torch sums in an order of its
// own. A picture of one channel is a mask: geometry takes the nearest pixel, its fill is the first value of a color,
// and the other steps change nothing. Threads: a StepRunner reuses its memory and is used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bale/loader/transform/step.hpp"

namespace bale::transform_detail {

/// 8-bit pixels in memory of their own.
struct Picture {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t channels = 3;          // 3: RGB; 1: a mask
  std::vector<std::uint8_t> pixels{};  // height x width x channels, without gaps; may be longer than that

  std::size_t stride() const { return std::size_t{width} * channels; }
  std::size_t size() const { return stride() * height; }
};

class StepRunner {
 public:
  StepRunner();
  ~StepRunner();
  StepRunner(StepRunner&&) noexcept;
  StepRunner& operator=(StepRunner&&) noexcept;

  /// Erases only if the step is not `converted`: pixels of a batch are not here. Throws `invalid_argument` for
  /// parameters out of range and for images that would be empty or too large; then the picture holds the result of some
  /// of the steps.
  void run(std::span<const Step> steps, Picture& picture);

  /// Whether the steps change each pixel by itself, so that run_in_place() takes them.
  static bool takes_in_place(std::span<const Step> steps);
  /// run() for `num_pixels` pixels of three bytes that are not a Picture.
  void run_in_place(std::span<const Step> steps, std::uint8_t* rgb, std::size_t num_pixels);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bale::transform_detail
