// Source: timm 1.0.15, data/auto_augment.py and, for the shares of translations, transforms_factory.py. Compiled
// without floating-point contraction.
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/draw/policy/policy.hpp"
#include "bale/loader/transform/draw/policy/timm_config.hpp"
#include "bale/loader/transform/random/portable_math.hpp"

namespace bale::transform_detail {
namespace {

constexpr double k_augmix_translate_share = 0.3;
constexpr std::uint64_t k_timm_drawn_depth = 3;

class TimmDrawing {
 public:
  TimmDrawing(const TimmConfig& config, const TimmOptions& options, KeyedRandom& random, Drawing& drawing)
      : config_(config), options_(options), random_(random), drawing_(drawing) {}

  void draw_policy() {
    for (const TimmChance& chance : config_.policy[random_.below(config_.policy.size())]) add(chance);
  }

  void draw_rand() {
    std::vector<double> weights;
    for (const TimmWeighted& one : config_.operations) weights.push_back(one.weight);
    for (std::uint32_t i = 0; i < config_.num_operations; ++i) {
      const std::size_t chosen = config_.is_weighted ? take(weights) : random_.below(weights.size());
      add({config_.operations[chosen].operation, config_.p, config_.magnitude});
    }
  }

  void draw_augmix() {
    step::Mixture mixture{.rule = step::Mixture::Rule::blend};
    for (const double weight : draw_dirichlet(config_.alpha, config_.num_chains, random_)) {
      mixture.weights.push_back(static_cast<float>(weight));
    }
    mixture.share = static_cast<float>(draw_beta(config_.alpha, random_));
    if (config_.blends_each) blend_each(mixture);
    for (std::uint32_t i = 0; i < config_.num_chains; ++i) mixture.chains.push_back(draw_chain());
    drawing_.add(std::move(mixture));
  }

 private:
  void add(const TimmChance& chance) {
    if (auto step = draw_timm_step(chance, config_.noise, options_, drawing_, random_)) drawing_.add(std::move(*step));
  }

  /// Draws an index by weight and sets its weight to 0, so that it is not drawn again.
  std::size_t take(std::vector<double>& weights) {
    double total = 0;
    for (const double weight : weights) total += weight;
    double rest = random_.uniform() * total;
    std::size_t chosen = 0;
    std::size_t last = 0;
    for (; chosen < weights.size(); ++chosen) {
      if (weights[chosen] == 0) continue;
      last = chosen;
      if (rest < weights[chosen]) break;
      rest -= weights[chosen];
    }
    weights[last] = 0;  // `last` is `chosen`, unless rounding left a rest
    return last;
  }

  Steps draw_chain() {
    const std::uint64_t depth = config_.depth > 0 ? config_.depth : 1 + random_.below(k_timm_drawn_depth);
    Steps chain;
    for (std::uint64_t i = 0; i < depth; ++i) {
      const TimmOperation operation = config_.operations[random_.below(config_.operations.size())].operation;
      const TimmChance chance{operation, 1, config_.magnitude};
      if (auto step = draw_timm_step(chance, config_.noise, options_, drawing_, random_)) {
        chain.push_back(std::move(*step));
      }
    }
    return chain;
  }

  /// The weights by which blends one after another give about the same as the blend with the sum: timm's
  /// _calc_blended_weights, in float32.
  static void blend_each(step::Mixture& mixture) {
    float rest = 1;
    for (auto weight = mixture.weights.rbegin(); weight != mixture.weights.rend(); ++weight) {
      *weight = rest > 0 ? *weight * mixture.share / rest : 0;  // timm: NaN if rounding leaves no rest
      rest *= 1 - *weight;
    }
    mixture.rule = step::Mixture::Rule::blend_each;
    mixture.share = 1;
  }

  const TimmConfig& config_;
  const TimmOptions& options_;
  KeyedRandom& random_;
  Drawing& drawing_;
};

}  // namespace

void draw_policy(const transforms::TimmAutoAugment& policy, KeyedRandom& random, Drawing& drawing) {
  const TimmConfig config = parse_timm_config(policy.config);
  TimmOptions options{.samplings = policy.interpolation, .fill = policy.fill};
  if (config.family == TimmConfig::Family::augmix) options.translate_share = k_augmix_translate_share;
  TimmDrawing timm(config, options, random, drawing);
  switch (config.family) {
    case TimmConfig::Family::policy:
      return timm.draw_policy();
    case TimmConfig::Family::rand:
      return timm.draw_rand();
    case TimmConfig::Family::augmix:
      return timm.draw_augmix();
  }
}

void check_policy(const transforms::TimmAutoAugment& policy) {
  parse_timm_config(policy.config);
  if (policy.interpolation.empty()) throw Error(ErrorCode::invalid_argument, "interpolation is empty");
}

}  // namespace bale::transform_detail
