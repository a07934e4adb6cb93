// TargetMaker: from the stored bytes of a mask, of boxes or of keypoints to their row of a batch.
//
// Threads: used by one thread at a time; it reuses its memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/image/png/mask.hpp"
#include "bale/loader/transform/field.hpp"
#include "bale/loader/transform/step.hpp"
#include "bale/loader/transform/steps/step_runner.hpp"
#include "bale/loader/transform/targets/move_targets.hpp"

namespace bale::transform_detail {

/// The most bytes that boxes and keypoints have in a batch, per stored byte: eight bytes of an array of keypoints of
/// two 8-bit numbers. The shortest box in JSON, "[0,0,1,1],", takes 10 bytes and then 32; one of an array of four 8-bit
/// numbers 4 bytes.
inline constexpr std::uint64_t k_target_bytes_per_stored = 8;

/// What was done to the image of a sample.
struct ImageSteps {
  Canvas size{};  // of the stored image
  std::span<const Step> steps{};
};

/// Changes masks; reuses its memory. Threads: used by one thread at a time.
class MaskMover {
 public:
  /// Crops, resizes, flips, pads and warps as the image, with the pixels that Pillow's nearest gives. `fill` is the
  /// value of pixels from outside the image. Other steps change nothing. Throws `unsupported` for step::Mixture, and
  /// what StepRunner::run() throws.
  void move(std::span<const Step> steps, std::uint16_t fill, Mask& mask);

 private:
  void run_plane(const Steps& steps, unsigned shift, const Mask& mask);

  StepRunner runner_{};
  Picture plane_{};
};

class TargetMaker {
 public:
  /// Masks of more than `max_pixels` pixels are refused.
  explicit TargetMaker(std::uint64_t max_pixels) : max_pixels_(max_pixels) {}

  /// Writes a mask to `out`, which has the bytes of the field's type and shape. Throws `damaged` and `unsupported` for
  /// a mask that cannot be decoded, that is of another size than its image, or that has a value which the field's type
  /// does not have.
  void make_mask(const Field& field, Bytes stored, const ImageSteps& image, MutableBytes out);
  /// The BoxRow[] or KeyPointRow[] of a sample. Lifetime: until the next call. Throws `damaged` and `unsupported` for
  /// targets that cannot be read or cannot follow the image.
  Bytes make_rows(const Field& field, Bytes stored, const ImageSteps& image);

 private:
  std::uint64_t max_pixels_;
  MaskMover masks_{};
  std::vector<std::byte> rows_{};
};

}  // namespace bale::transform_detail
