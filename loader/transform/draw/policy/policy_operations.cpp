// Source: torchvision 0.21, transforms/v2/_auto_augment.py. Compiled without floating-point contraction.
#include "bale/loader/transform/draw/policy/policy_operations.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "bale/loader/transform/random/portable_math.hpp"

namespace bale::transform_detail {
namespace {

using Unit = OperationSpace::Unit;

constexpr double k_translate_share = 150.0 / 331.0;

constexpr std::array k_standard_space{
    OperationSpace{Operation::identity},
    OperationSpace{Operation::shear_x, Unit::number, 0, 0.3},
    OperationSpace{Operation::shear_y, Unit::number, 0, 0.3},
    OperationSpace{Operation::translate_x, Unit::share_of_width, 0, k_translate_share},
    OperationSpace{Operation::translate_y, Unit::share_of_height, 0, k_translate_share},
    OperationSpace{Operation::rotate, Unit::number, 0, 30},
    OperationSpace{Operation::brightness, Unit::number, 0, 0.9},
    OperationSpace{Operation::color, Unit::number, 0, 0.9},
    OperationSpace{Operation::contrast, Unit::number, 0, 0.9},
    OperationSpace{Operation::sharpness, Unit::number, 0, 0.9},
    OperationSpace{Operation::posterize, Unit::whole_bits, 8, 4},
    OperationSpace{Operation::solarize, Unit::number, 1, 0},
    OperationSpace{Operation::auto_contrast},
    OperationSpace{Operation::equalize},
    OperationSpace{Operation::invert},
};

/// torch.linspace(first, last, num_bins)[index] in float32, by its formula for one value. Its loops over vectors differ
/// from it in the last bit, and from CPU to CPU.
float linspace(double first, double last, std::uint32_t index, std::uint32_t num_bins) {
  const auto low = static_cast<float>(first);
  const auto high = static_cast<float>(last);
  const float step = (high - low) / static_cast<float>(num_bins - 1);
  return index < num_bins / 2 ? low + step * static_cast<float>(index)
                              : high - step * static_cast<float>(num_bins - index - 1);
}

/// (first - torch.arange(num_bins) / ((num_bins - 1) / (first - last))).round()[index], in float32.
double bits_of(const OperationSpace& space, std::uint32_t index, std::uint32_t num_bins) {
  const auto divisor = static_cast<float>((num_bins - 1) / (space.first - space.last));
  const float bits = static_cast<float>(space.first) - static_cast<float>(index) / divisor;
  return round_half_even(std::max(bits, 0.0F));
}

double magnitude_of(const OperationSpace& space, std::uint32_t index, std::uint32_t num_bins, const Drawing& drawing) {
  switch (space.unit) {
    case Unit::none:
      return 0;
    case Unit::number:
      return linspace(space.first, space.last, index, num_bins);
    case Unit::share_of_width:
      return linspace(space.first, space.last * drawing.width(), index, num_bins);
    case Unit::share_of_height:
      return linspace(space.first, space.last * drawing.height(), index, num_bins);
    case Unit::whole_bits:
      return bits_of(space, index, num_bins);
  }
  return 0;
}

std::optional<Step> affine(const std::array<double, 6>& matrix, const WarpOptions& options) {
  const step::Affine nothing;
  if (matrix == nothing.matrix) return std::nullopt;
  return step::Affine{.matrix = matrix, .sampling = options.sampling, .fill = options.fill};
}

template <typename Adjustment>
std::optional<Step> adjust(double magnitude) {
  if (magnitude == 0) return std::nullopt;
  return Adjustment{.factor = 1.0 + magnitude};
}

}  // namespace

std::span<const OperationSpace> standard_space() { return k_standard_space; }

double draw_magnitude(const OperationSpace& space, std::uint32_t index, std::uint32_t num_bins, const Drawing& drawing,
                      KeyedRandom& random) {
  const double magnitude = magnitude_of(space, index, num_bins, drawing);
  return space.is_signed() && random.uniform() < 0.5 ? -magnitude : magnitude;
}

// affine() shears by the angle atan(magnitude) about (0, 0) and translates by whole pixels. The inverses of those
// matrices need no sines: they are the magnitude itself.
std::optional<Step> step_of(Operation operation, double magnitude, const WarpOptions& options) {
  switch (operation) {
    case Operation::identity:
      return std::nullopt;
    case Operation::shear_x:
      return affine({1, magnitude, 0, 0, 1, 0}, options);
    case Operation::shear_y:
      return affine({1, 0, 0, magnitude, 1, 0}, options);
    case Operation::translate_x:
      return affine({1, 0, -std::trunc(magnitude), 0, 1, 0}, options);
    case Operation::translate_y:
      return affine({1, 0, 0, 0, 1, -std::trunc(magnitude)}, options);
    case Operation::rotate:
      if (magnitude == 0) return std::nullopt;
      return step::Rotate{.angle = magnitude, .sampling = options.sampling, .fill = options.fill};
    case Operation::brightness:
      return adjust<step::Brightness>(magnitude);
    case Operation::color:
      return adjust<step::Saturation>(magnitude);
    case Operation::contrast:
      return adjust<step::Contrast>(magnitude);
    case Operation::sharpness:
      return adjust<step::Sharpness>(magnitude);
    case Operation::posterize:
      if (magnitude >= 8) return std::nullopt;
      return step::Posterize{.bits = static_cast<std::uint32_t>(magnitude)};
    case Operation::solarize:
      return step::Solarize{.threshold = 255.0 * magnitude};
    case Operation::auto_contrast:
      return step::AutoContrast{};
    case Operation::equalize:
      return step::Equalize{};
    case Operation::invert:
      return step::Invert{};
  }
  return std::nullopt;
}

}  // namespace bale::transform_detail
