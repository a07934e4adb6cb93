// Source: timm 1.0.15, data/auto_augment.py: the meaning of the parts. timm passes over parts that it does not know if
// they have no digit, such as "inc" and "mstdinf"; here they are refused.
#include "bale/loader/transform/draw/policy/timm_config.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/draw/policy/policy.hpp"
#include "bale/loader/transform/random/portable_math.hpp"

namespace bale::transform_detail {

// Source: timm 1.0.15, data/auto_augment.py. Arguments are computed in its order of operations. Compiled without
// floating-point contraction.

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

namespace {

constexpr std::uint32_t k_max_magnitude = 1000;
constexpr double k_uniform_deviation = 100;  // rand: a larger one stands for uniform magnitudes

std::vector<std::string_view> split(std::string_view config) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = config.find('-');
    parts.push_back(config.substr(0, end));
    if (end == std::string_view::npos) return parts;
    config.remove_prefix(end + 1);
  }
}

/// One part of a configuration string: letters and then a number.
class Part {
 public:
  Part(std::string_view config, std::string_view text) : config_(config), text_(text) {
    const std::size_t digit = text.find_first_of("0123456789");
    if (digit != std::string_view::npos) value_ = text.substr(digit);
    key_ = text.substr(0, digit);
  }

  std::string_view key() const { return key_; }
  std::string_view text() const { return text_; }

  std::uint32_t integer(std::uint32_t least, std::uint32_t most) const { return number<std::uint32_t>(least, most); }
  double real(double least, double most) const { return number<double>(least, most); }

  [[noreturn]] void refuse(std::string_view what, std::string hint = {}) const {
    throw Error(ErrorCode::invalid_argument, fmt::format("config \"{}\": {} \"{}\"", config_, what, text_),
                {.hint = std::move(hint)});
  }
  [[noreturn]] void refuse_unknown() const {
    if (text_ == "inc") refuse("unknown part", "timm ignores it too; write inc1");
    if (text_ == "mstdinf") refuse("unknown part", "timm ignores it too; for uniform magnitudes, write mstd101");
    refuse("unknown part");
  }

 private:
  template <typename Number>
  Number number(Number least, Number most) const {
    if (value_.empty()) refuse_unknown();
    Number found{};
    const char* end = value_.data() + value_.size();
    const auto [rest, error] = std::from_chars(value_.data(), end, found);
    if (error != std::errc() || rest != end) refuse("no number in");
    if (!(found >= least && found <= most)) refuse(fmt::format("not within [{}, {}]:", least, most));
    return found;
  }

  std::string_view config_;
  std::string_view text_;
  std::string_view key_;
  std::string_view value_{};
};

/// Parts that all families have. Returns whether `part` is one of them.
bool read_deviation(const Part& part, TimmConfig& config) {
  if (part.key() != "mstd") return false;
  config.noise.deviation = part.real(0, k_max_magnitude);
  return true;
}

void read_policy_part(const Part& part, TimmConfig& config) {
  if (!read_deviation(part, config)) part.refuse_unknown();
}

void read_augmix_part(const Part& part, TimmConfig& config) {
  if (read_deviation(part, config)) return;
  if (part.key() == "m") {
    config.magnitude = part.integer(0, k_max_magnitude);
  } else if (part.key() == "w") {
    config.num_chains = part.integer(1, k_max_chains);
  } else if (part.key() == "d") {
    config.depth = part.integer(0, k_max_operations);
  } else if (part.key() == "a") {
    config.alpha = part.real(k_least_alpha, k_most_alpha);
  } else if (part.key() == "b") {
    part.integer(0, 1);
    config.blends_each = true;  // timm takes the text of the number for a truth value: b0 is true as well
  } else {
    part.refuse_unknown();
  }
}

/// What the parts of "rand" choose the operations by.
struct RandSet {
  std::string_view name{};
  bool increasing = false;
};

void read_rand_part(const Part& part, TimmConfig& config, RandSet& set) {
  if (read_deviation(part, config)) {
    if (config.noise.deviation > k_uniform_deviation) config.noise.deviation = std::numeric_limits<double>::infinity();
  } else if (part.text().starts_with('t')) {
    set.name = part.text().substr(1);
    if (set.name.empty() || timm_rand_operations(set.name, false).empty()) {
      part.refuse("unknown set of operations", "known sets: tweights, t3a, t3aw");
    }
  } else if (part.key() == "mmax") {
    const std::uint32_t most = part.integer(0, k_max_magnitude);
    if (most > 0) config.noise.most = most;
  } else if (part.key() == "inc") {
    part.integer(0, 1);
    set.increasing = true;  // timm takes the text of the number for a truth value: inc0 is true as well
  } else if (part.key() == "m") {
    config.magnitude = part.integer(0, k_max_magnitude);
  } else if (part.key() == "n") {
    config.num_operations = part.integer(0, k_max_operations);
  } else if (part.key() == "p") {
    config.p = part.real(0, 1);
  } else {
    part.refuse_unknown();
  }
}

void choose_rand_operations(const RandSet& set, std::string_view text, TimmConfig& config) {
  config.operations = timm_rand_operations(set.name, set.increasing);
  config.is_weighted = set.name == "weights" || set.name == "3aw";
  if (config.is_weighted && config.num_operations > config.operations.size()) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("config \"{}\": n{} is more than the {} operations of t{}, of which each is drawn once at most",
                    text, config.num_operations, config.operations.size(), set.name));
  }
}

}  // namespace

TimmConfig parse_timm_config(std::string_view text) {
  const std::vector<std::string_view> parts = split(text);
  TimmConfig config;
  if (parts[0] == "augmix") {
    config = {.family = TimmConfig::Family::augmix, .operations = timm_augmix_operations(), .magnitude = 3};
    config.noise.deviation = std::numeric_limits<double>::infinity();
  } else if (parts[0] != "rand") {
    config = {.family = TimmConfig::Family::policy, .policy = timm_policy(parts[0])};
    if (config.policy.empty()) {
      throw Error(ErrorCode::invalid_argument, fmt::format("config \"{}\": unknown policy \"{}\"", text, parts[0]),
                  {.hint = "known policies: rand, augmix, original, originalr, v0, v0r, 3a"});
    }
  }
  RandSet set;
  std::set<std::string_view> seen;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const Part part(text, parts[i]);
    const std::string_view key = part.text().starts_with('t') ? "t" : part.key();
    if (!seen.insert(key).second) part.refuse("second part of its kind:");
    if (config.family == TimmConfig::Family::policy) read_policy_part(part, config);
    if (config.family == TimmConfig::Family::augmix) read_augmix_part(part, config);
    if (config.family == TimmConfig::Family::rand) read_rand_part(part, config, set);
  }
  if (config.family == TimmConfig::Family::rand) choose_rand_operations(set, text, config);
  return config;
}

}  // namespace bale::transform_detail
