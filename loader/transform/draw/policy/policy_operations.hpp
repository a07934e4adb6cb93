// The operations of torchvision's augmentation policies, and the magnitudes that they are drawn with.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "bale/formats/base/random.hpp"
#include "bale/loader/transform/draw/drawing.hpp"
#include "bale/loader/transform/step.hpp"

namespace bale::transform_detail {

enum class Operation : std::uint8_t {
  identity,
  shear_x,
  shear_y,
  translate_x,
  translate_y,
  rotate,
  brightness,
  color,
  contrast,
  sharpness,
  posterize,
  solarize,
  auto_contrast,
  equalize,
  invert,
};

/// An operation and the magnitudes from `first` to `last` that it has in one family of policies.
struct OperationSpace {
  enum class Unit : std::uint8_t { none, number, share_of_width, share_of_height, whole_bits };

  Operation operation = Operation::identity;
  Unit unit = Unit::none;
  double first = 0;
  double last = 0;

  bool has_magnitude() const { return unit != Unit::none; }
  /// Half of the magnitudes that rise from 0 are negated.
  bool is_signed() const { return first < last; }
};

/// The operations of AutoAugment, in the order of Operation. RandAugment has all of them but the last.
std::span<const OperationSpace> standard_space();

/// The magnitude number `index` of `num_bins`, with a drawn sign; 0 for operations that have none.
/// Preconditions: index < num_bins, num_bins >= 2.
double draw_magnitude(const OperationSpace& space, std::uint32_t index, std::uint32_t num_bins, const Drawing& drawing,
                      KeyedRandom& random);

/// What warps need in addition to a magnitude.
struct WarpOptions {
  Sampling sampling = Sampling::nearest;
  Color fill{};
};

/// The step that torchvision runs for an operation; nullopt if it changes nothing.
std::optional<Step> step_of(Operation operation, double magnitude, const WarpOptions& options);

/// Appends an operation to the image's steps.
inline void add_operation(Operation operation, double magnitude, const WarpOptions& options, Drawing& drawing) {
  if (auto step = step_of(operation, magnitude, options)) drawing.add(std::move(*step));
}

}  // namespace bale::transform_detail
