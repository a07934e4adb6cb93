// Source: timm 1.0.15, data/auto_augment.py. Arguments are computed in its order of operations. Compiled without
// floating-point contraction.
#include "bale/loader/transform/draw/policy/timm_operations.hpp"

#include <algorithm>
#include <cmath>

#include "bale/loader/transform/random/portable_math.hpp"

namespace bale::transform_detail {
namespace {

constexpr double k_level_denominator = 10;
constexpr double k_least_factor = 0.1;
constexpr int k_solarize_add_threshold = 128;

/// One operation with its magnitude drawn: what becomes of it.
class Argument {
 public:
  Argument(double magnitude, const TimmOptions& options, const Drawing& drawing, KeyedRandom& random)
      : level_(magnitude / k_level_denominator), options_(options), drawing_(drawing), random_(random) {}

  std::optional<Step> shear_x() {
    const double factor = negate_half(level_ * 0.3);
    return affine({1, factor, 0, 0, 1, 0});
  }
  std::optional<Step> shear_y() {
    const double factor = negate_half(level_ * 0.3);
    return affine({1, 0, 0, factor, 1, 0});
  }
  std::optional<Step> translate_x() {
    const double share = negate_half(level_ * options_.translate_share);
    return affine({1, 0, share * drawing_.width(), 0, 1, 0});
  }
  std::optional<Step> translate_y() {
    const double share = negate_half(level_ * options_.translate_share);
    return affine({1, 0, 0, 0, 1, share * drawing_.height()});
  }
  std::optional<Step> rotate() {
    const double angle = negate_half(level_ * 30.0);
    const Sampling sampling = draw_sampling();
    if (angle == 0) return std::nullopt;
    return step::Rotate{.angle = angle, .sampling = sampling, .fill = options_.fill};
  }

  template <typename Adjustment>
  std::optional<Step> enhance() {
    return adjust<Adjustment>(level_ * 1.8 + 0.1);
  }
  template <typename Adjustment>
  std::optional<Step> enhance_increasing() {
    return adjust<Adjustment>(std::max(k_least_factor, 1.0 + negate_half(level_ * 0.9)));
  }
  std::optional<Step> desaturate() { return adjust<step::Saturation>(std::clamp(1.0 - between(0.5, 1), 0.0, 1.0)); }

  static std::optional<Step> posterize(int bits) {
    if (bits >= 8) return std::nullopt;
    return step::Posterize{.bits = static_cast<std::uint32_t>(std::max(bits, 0))};  // Pillow: below 0 as 0
  }
  int bits() const { return static_cast<int>(level_ * 4); }

  static std::optional<Step> solarize(int threshold) {
    if (threshold >= 256) return std::nullopt;
    return step::Solarize{.threshold = static_cast<double>(threshold)};
  }
  int threshold() const { return std::min(256, static_cast<int>(level_ * 256)); }

  std::optional<Step> solarize_add() const {
    const int add = std::min(128, static_cast<int>(level_ * 110));
    if (add == 0) return std::nullopt;
    return step::SolarizeAdd{.add = add, .threshold = k_solarize_add_threshold};
  }

  std::optional<Step> gaussian_blur() const { return step::PillowGaussianBlur{.radius = between(0.1, 2)}; }
  std::optional<Step> gaussian_blur_rand() {
    const double most = 2.0 * between(0, 1);
    return step::PillowGaussianBlur{.radius = 0.1 + (most - 0.1) * random_.uniform()};
  }

 private:
  double negate_half(double value) { return random_.uniform() < 0.5 ? -value : value; }
  double between(double least, double most) const { return std::clamp(least + (most - least) * level_, least, most); }
  Sampling draw_sampling() {
    return options_.samplings[options_.samplings.size() == 1 ? 0 : random_.below(options_.samplings.size())];
  }
  std::optional<Step> affine(const std::array<double, 6>& matrix) {
    const step::Affine nothing;
    const Sampling sampling = draw_sampling();
    if (matrix == nothing.matrix) return std::nullopt;
    return step::Affine{.matrix = matrix, .sampling = sampling, .fill = options_.fill};
  }
  template <typename Adjustment>
  static std::optional<Step> adjust(double factor) {
    if (factor == 1) return std::nullopt;
    return Adjustment{.factor = factor};
  }

  double level_;
  const TimmOptions& options_;
  const Drawing& drawing_;
  KeyedRandom& random_;
};

double draw_magnitude(double magnitude, const TimmNoise& noise, KeyedRandom& random) {
  if (std::isinf(noise.deviation)) {
    magnitude *= random.uniform();
  } else if (noise.deviation > 0) {
    magnitude += noise.deviation * portable_normal(random);
  }
  return std::clamp(magnitude, 0.0, noise.most);
}

std::optional<Step> step_of(TimmOperation operation, Argument argument) {
  switch (operation) {
    case TimmOperation::auto_contrast:
      return step::AutoContrast{};
    case TimmOperation::equalize:
      return step::Equalize{};
    case TimmOperation::invert:
      return step::Invert{};
    case TimmOperation::rotate:
      return argument.rotate();
    case TimmOperation::posterize:
      return Argument::posterize(argument.bits());
    case TimmOperation::posterize_increasing:
      return Argument::posterize(4 - argument.bits());
    case TimmOperation::posterize_original:
      return Argument::posterize(4 + argument.bits());
    case TimmOperation::solarize:
      return Argument::solarize(argument.threshold());
    case TimmOperation::solarize_increasing:
      return Argument::solarize(256 - argument.threshold());
    case TimmOperation::solarize_add:
      return argument.solarize_add();
    case TimmOperation::color:
      return argument.enhance<step::Saturation>();
    case TimmOperation::color_increasing:
      return argument.enhance_increasing<step::Saturation>();
    case TimmOperation::contrast:
      return argument.enhance<step::Contrast>();
    case TimmOperation::contrast_increasing:
      return argument.enhance_increasing<step::Contrast>();
    case TimmOperation::brightness:
      return argument.enhance<step::Brightness>();
    case TimmOperation::brightness_increasing:
      return argument.enhance_increasing<step::Brightness>();
    case TimmOperation::sharpness:
      return argument.enhance<step::Sharpness>();
    case TimmOperation::sharpness_increasing:
      return argument.enhance_increasing<step::Sharpness>();
    case TimmOperation::shear_x:
      return argument.shear_x();
    case TimmOperation::shear_y:
      return argument.shear_y();
    case TimmOperation::translate_x_rel:
      return argument.translate_x();
    case TimmOperation::translate_y_rel:
      return argument.translate_y();
    case TimmOperation::desaturate:
      return argument.desaturate();
    case TimmOperation::gaussian_blur:
      return argument.gaussian_blur();
    case TimmOperation::gaussian_blur_rand:
      return argument.gaussian_blur_rand();
  }
  return std::nullopt;
}

}  // namespace

std::optional<Step> draw_timm_step(const TimmChance& chance, const TimmNoise& noise, const TimmOptions& options,
                                   const Drawing& drawing, KeyedRandom& random) {
  if (chance.p < 1 && random.uniform() >= chance.p) return std::nullopt;
  return step_of(chance.operation, Argument(draw_magnitude(chance.magnitude, noise, random), options, drawing, random));
}

}  // namespace bale::transform_detail
