// Draws of augmentation policies: which steps, how often, with which arguments. Expected frequencies and arguments are
// those of torchvision 0.21 and timm 1.0.15. Draws are keyed, so a test gives the same result every time.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/loader/transform/draw/policy/policy.hpp"
#include "bale/loader/transform/random/portable_math.hpp"
#include "bale/tests/support/catch.hpp"

namespace {

using bale::KeyedRandom;
using bale::Sampling;
using bale::Step;
using bale::Steps;
using bale::transforms::AugMix;
using bale::transforms::AutoAugment;
using bale::transforms::RandAugment;
using bale::transforms::TimmAutoAugment;
using bale::transforms::TrivialAugmentWide;
namespace step = bale::step;

constexpr std::uint32_t k_width = 500;
constexpr std::uint32_t k_height = 375;
constexpr std::uint64_t k_num_draws = 40000;

template <typename Policy>
Steps draw(const Policy& policy, std::uint64_t sample) {
  Steps steps;
  KeyedRandom random{1, 2, sample};
  bale::transform_detail::Drawing drawing(k_width, k_height, bale::PassOrder::pillow_13, steps);
  bale::transform_detail::draw_policy(policy, random, drawing);
  return steps;
}

/// The operation of torchvision that a step comes from, and its argument.
struct Named {
  std::string name;
  double argument = 0;
};

Named name_of(const step::Affine& affine) {
  const auto& m = affine.matrix;
  if (m[1] != 0) return {"ShearX", m[1]};
  if (m[3] != 0) return {"ShearY", m[3]};
  return m[2] != 0 ? Named{"TranslateX", m[2]} : Named{"TranslateY", m[5]};
}
Named name_of(const step::Rotate& rotate) { return {"Rotate", rotate.angle}; }
Named name_of(const step::Brightness& step) { return {"Brightness", step.factor}; }
Named name_of(const step::Saturation& step) { return {"Color", step.factor}; }
Named name_of(const step::Contrast& step) { return {"Contrast", step.factor}; }
Named name_of(const step::Sharpness& step) { return {"Sharpness", step.factor}; }
Named name_of(const step::Posterize& step) { return {"Posterize", static_cast<double>(step.bits)}; }
Named name_of(const step::Solarize& step) { return {"Solarize", step.threshold}; }
Named name_of(const step::SolarizeAdd& step) { return {"SolarizeAdd", static_cast<double>(step.add)}; }
Named name_of(const step::PillowGaussianBlur& step) { return {"Blur", step.radius}; }
Named name_of(const step::AutoContrast&) { return {"AutoContrast"}; }
Named name_of(const step::Equalize&) { return {"Equalize"}; }
Named name_of(const step::Invert&) { return {"Invert"}; }
template <typename Other>
Named name_of(const Other&) {
  return {"other"};
}

Named name_of_step(const Step& step) {
  return std::visit([](const auto& one) { return name_of(one); }, step);
}

/// The arguments of each operation, over many draws; "Identity" counts the draws without a step.
using Counts = std::map<std::string, std::vector<double>>;

template <typename Policy>
Counts count(const Policy& policy) {
  Counts counts;
  for (std::uint64_t sample = 0; sample < k_num_draws; ++sample) {
    const Steps steps = draw(policy, sample);
    if (steps.empty()) counts["Identity"].push_back(0);
    for (const Step& step : steps) {
      const Named named = name_of_step(step);
      counts[named.name].push_back(named.argument);
    }
  }
  return counts;
}

double share_of(const Counts& counts, const std::string& name, double draws = k_num_draws) {
  return counts.contains(name) ? static_cast<double>(counts.at(name).size()) / draws : 0;
}

/// Whether a count agrees with a probability within 6 standard deviations.
bool near(double share, double p, double draws = k_num_draws) {
  return std::abs(share - p) <= 6 * std::sqrt(std::max(p * (1 - p), 1e-9) / draws);
}

double least(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }
double most(const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); }
double share_below(const std::vector<double>& values, double limit) {
  return static_cast<double>(std::count_if(values.begin(), values.end(), [&](double x) { return x < limit; })) /
         static_cast<double>(values.size());
}
std::size_t num_different(const std::vector<double>& values) {
  return std::set<double>(values.begin(), values.end()).size();
}

template <typename Policy>
std::string refusal(const Policy& policy) {
  try {
    bale::transform_detail::check_policy(policy);
  } catch (const bale::Error& error) {
    CHECK(error.code() == bale::ErrorCode::invalid_argument);
    return error.message();
  }
  return "";
}

TimmAutoAugment timm(std::string config) { return {.config = std::move(config)}; }

}  // namespace

TEST_CASE("TrivialAugmentWide draws 14 operations with 31 magnitudes") {
  const Counts counts = count(TrivialAugmentWide{});
  // Magnitude 0 of the signed operations and the four upper ones of Posterize (8, 7.8, 7.6 bits: 8) change nothing.
  const double nothing = 1 + 9.0 / 31 + 3.0 / 31;
  CHECK(near(share_of(counts, "Identity"), nothing / 14));
  for (const char* name :
       {"ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color", "Contrast", "Sharpness"}) {
    INFO(name);
    const bool is_factor = least(counts.at(name)) > 0;  // 1 stands for no change, in place of 0
    CHECK(near(share_of(counts, name), 30.0 / 31 / 14));
    CHECK(near(share_below(counts.at(name), is_factor ? 1 : 0), 0.5, 2500));
    CHECK(num_different(counts.at(name)) <= 60);
    CHECK(num_different(counts.at(name)) >= 50);
  }
  CHECK(near(share_of(counts, "Solarize"), 1.0 / 14));
  CHECK(near(share_of(counts, "AutoContrast"), 1.0 / 14));
  CHECK(near(share_of(counts, "Equalize"), 1.0 / 14));
  CHECK(counts.size() == 14);
  CHECK(most(counts.at("ShearX")) == static_cast<double>(0.99F));
  CHECK(least(counts.at("TranslateX")) == -32);
  CHECK(most(counts.at("Rotate")) == 135);
  CHECK(least(counts.at("Brightness")) == 1.0 - static_cast<double>(0.99F));
  CHECK(std::set<double>(counts.at("Posterize").begin(), counts.at("Posterize").end()) ==
        std::set<double>{2, 3, 4, 5, 6, 7});
  CHECK(least(counts.at("Solarize")) == 0);
  CHECK(most(counts.at("Solarize")) == 255);
}

TEST_CASE("RandAugment draws 14 operations with one magnitude") {
  const RandAugment policy;
  CHECK(refusal(policy).empty());
  const Counts counts = count(policy);
  const double draws = 2.0 * k_num_draws;
  for (const auto& [name, values] : counts) {
    INFO(name);
    if (name == "Identity") continue;
    CHECK(near(share_of(counts, name, draws), 1.0 / 14, draws));
  }
  CHECK(near(share_of(counts, "Identity"), 1.0 / 14 / 14));
  CHECK(counts.size() == 14);
  CHECK(num_different(counts.at("Rotate")) == 2);
  CHECK(most(counts.at("Rotate")) == 9);
  CHECK(std::abs(most(counts.at("ShearX")) - 0.09) < 1e-7);
  CHECK(most(counts.at("TranslateX")) == std::trunc(500 * 150.0 / 331 * 9 / 30));
  CHECK(most(counts.at("TranslateY")) == std::trunc(375 * 150.0 / 331 * 9 / 30));
  CHECK(std::abs(most(counts.at("Color")) - 1.27) < 1e-6);
  CHECK(least(counts.at("Posterize")) == 7);  // 8 - 9 / 7.5 = 6.8
  CHECK(std::abs(least(counts.at("Solarize")) - 255 * 0.7) < 1e-4);
}

TEST_CASE("Policies take the interpolation and the fill color") {
  TrivialAugmentWide policy{.interpolation = Sampling::bilinear, .fill = {1, 2, 3}};
  int num_warps = 0;
  for (std::uint64_t sample = 0; sample < 200; ++sample) {
    for (const Step& step : draw(policy, sample)) {
      if (const auto* affine = std::get_if<step::Affine>(&step)) {
        CHECK(affine->sampling == Sampling::bilinear);
        CHECK(affine->fill == bale::Color{1, 2, 3});
        ++num_warps;
      } else if (const auto* rotate = std::get_if<step::Rotate>(&step)) {
        CHECK(rotate->sampling == Sampling::bilinear);
        CHECK(rotate->fill == bale::Color{1, 2, 3});
        ++num_warps;
      }
    }
  }
  CHECK(num_warps > 30);
}

TEST_CASE("AutoAugment draws from 25 pairs") {
  // Frequencies from the tables of the three policies: sums of probabilities over 25.
  const Counts imagenet = count(AutoAugment{});
  CHECK(near(share_of(imagenet, "Invert"), 1.8 / 25));
  CHECK(near(share_of(imagenet, "ShearX"), 0.6 / 25));
  CHECK(near(share_of(imagenet, "Contrast"), 2.0 / 25));
  CHECK(near(share_of(imagenet, "Sharpness"), 0.4 / 25));
  CHECK(near(share_of(imagenet, "AutoContrast"), 1.2 / 25));
  CHECK(near(share_of(imagenet, "Rotate"), 3.8 / 25));
  const std::vector<double>& angles = imagenet.at("Rotate");
  CHECK(most(angles) == 30);
  CHECK(near(share_below(angles, 0), 0.5, static_cast<double>(angles.size())));
  CHECK_FALSE(imagenet.contains("TranslateX"));

  const Counts cifar = count(AutoAugment{.policy = AutoAugment::Policy::cifar10});
  CHECK(near(share_of(cifar, "TranslateY"), 3.4 / 25));
  CHECK(near(share_of(cifar, "Brightness"), 2.3 / 25));
  CHECK(near(share_of(cifar, "Invert"), 0.2 / 25));
  CHECK(most(cifar.at("TranslateY")) == std::trunc(375 * 150.0 / 331));

  const Counts svhn = count(AutoAugment{.policy = AutoAugment::Policy::svhn});
  CHECK(near(share_of(svhn, "ShearY"), 6.3 / 25));
  CHECK(near(share_of(svhn, "Invert"), 7.6 / 25));
  CHECK(near(share_of(svhn, "Contrast"), 0.3 / 25));
}

TEST_CASE("AugMix draws chains and their weights") {
  const AugMix policy;
  std::map<std::size_t, int> lengths;
  Counts counts;
  double shares = 0;
  for (std::uint64_t sample = 0; sample < k_num_draws; ++sample) {
    const Steps steps = draw(policy, sample);
    REQUIRE(steps.size() == 1);
    const auto& mixture = std::get<step::Mixture>(steps[0]);
    REQUIRE(mixture.rule == step::Mixture::Rule::sum);
    REQUIRE(mixture.chains.size() == 3);
    float sum = mixture.share;
    for (const float weight : mixture.weights) sum += weight;
    REQUIRE(std::abs(sum - 1) < 1e-5F);
    shares += mixture.share;
    for (const Steps& chain : mixture.chains) {
      ++lengths[chain.size()];
      for (const Step& step : chain) counts[name_of_step(step).name].push_back(name_of_step(step).argument);
    }
  }
  CHECK(std::abs(shares / k_num_draws - 0.5) < 0.01);
  CHECK(lengths.size() == 4);  // up to 3 steps; none if all change nothing
  CHECK(counts.size() == 13);
  const double draws = 3.0 * 2 * k_num_draws;  // a chain has 2 operations on average
  CHECK(near(share_of(counts, "Equalize", draws), 1.0 / 13, draws / 2));
  CHECK(near(share_of(counts, "Rotate", draws), 2.0 / 3 / 13, draws / 2));
  CHECK(num_different(counts.at("Rotate")) == 4);  // severity 3: the bins 0, 1, 2 of 10
  CHECK(std::abs(most(counts.at("Rotate")) - 30.0 * 2 / 9) < 1e-5);
  CHECK(most(counts.at("TranslateX")) == std::trunc(500.0 / 3 * 2 / 9));
  CHECK(least(counts.at("Posterize")) == 3);
  CHECK(most(counts.at("Posterize")) == 4);

  const AugMix partial{.severity = 10, .mixture_width = 5, .chain_depth = 4, .all_ops = false};
  std::set<std::string> seen;
  for (std::uint64_t sample = 0; sample < 1000; ++sample) {
    const auto mixture = std::get<step::Mixture>(draw(partial, sample).at(0));
    REQUIRE(mixture.chains.size() == 5);
    for (const Steps& chain : mixture.chains) {
      REQUIRE(chain.size() <= 4);
      for (const Step& step : chain) seen.insert(name_of_step(step).name);
    }
  }
  CHECK(seen.size() == 9);
}

TEST_CASE("timm's rand draws 15 operations with half the probability") {
  const TimmAutoAugment policy = timm("rand-m9-mstd0.5-inc1");
  CHECK(refusal(policy).empty());
  const Counts counts = count(policy);
  const double draws = 2.0 * k_num_draws;
  CHECK(counts.size() == 15 + 1);
  for (const char* name :
       {"AutoContrast", "Equalize", "Invert", "Rotate", "Posterize", "Solarize", "SolarizeAdd", "Color", "Contrast",
        "Brightness", "Sharpness", "ShearX", "ShearY", "TranslateX", "TranslateY"}) {
    INFO(name);
    CHECK(near(share_of(counts, name, draws), 0.5 / 15, draws));
  }
  // The magnitude is normal about 9, cut off at 10.
  const std::vector<double>& angles = counts.at("Rotate");
  CHECK(most(angles) == 30);
  CHECK(near(share_below(angles, 0), 0.5, static_cast<double>(angles.size())));
  double sum = 0;
  for (const double angle : angles) sum += std::abs(angle) / 3;
  CHECK(std::abs(sum / static_cast<double>(angles.size()) - 9) < 0.1);
  CHECK(share_below(counts.at("Color"), 1) > 0.4);
  CHECK(least(counts.at("Color")) == std::max(0.1, 1 - 0.9));
  CHECK(std::abs(most(counts.at("TranslateX")) - 0.45 * 500) < 1e-9);
  CHECK(std::set<double>(counts.at("Posterize").begin(), counts.at("Posterize").end()) == std::set<double>{0, 1, 2});
}

TEST_CASE("timm's arguments without noise are exact") {
  const auto only = [](const std::string& config) {
    std::map<std::string, std::set<double>> seen;
    for (std::uint64_t sample = 0; sample < 3000; ++sample) {
      for (const Step& step : draw(timm(config), sample)) {
        seen[name_of_step(step).name].insert(name_of_step(step).argument);
      }
    }
    return seen;
  };
  using Set = std::set<double>;
  auto rand = only("rand-m7-p1.0-n3");
  CHECK(rand["Posterize"] == Set{2});
  CHECK(rand["Solarize"] == Set{179});
  CHECK(rand["SolarizeAdd"] == Set{77});
  CHECK(rand["Color"] == Set{0.7 * 1.8 + 0.1});
  CHECK(rand["ShearX"] == Set{-(0.7 * 0.3), 0.7 * 0.3});
  CHECK(rand["TranslateY"] == Set{-(0.7 * 0.45) * 375, 0.7 * 0.45 * 375});
  auto increasing = only("rand-m7-p1.0-inc1");
  CHECK(increasing["Posterize"] == Set{2});
  CHECK(increasing["Solarize"] == Set{77});
  CHECK(increasing["Sharpness"] == Set{1 - 0.7 * 0.9, 1 + 0.7 * 0.9});
  auto strong = only("rand-m20-mmax20-p1-inc1");
  CHECK(strong["Posterize"] == Set{0});
  CHECK(strong["Solarize"] == Set{0});
  CHECK(strong["Brightness"] == Set{0.1, 2.8});
  CHECK(strong["Rotate"] == Set{-60, 60});
  CHECK(only("rand-m20-p1")["Rotate"] == Set{-30, 30});
  auto three = only("3a");
  CHECK(three["Solarize"] == Set{128});
  CHECK(three["Color"] == Set{0});
  CHECK(three["Blur"].size() > 900);
  CHECK(*three["Blur"].begin() >= 0.1);
  CHECK(*three["Blur"].rbegin() < 2.0);
  CHECK(three.size() == 3);
  CHECK(only("original")["Posterize"] == Set{6, 7});
  CHECK(only("originalr")["Posterize"] == Set{1, 2});
  CHECK(only("v0")["Posterize"] == Set{0, 2});
  CHECK(only("v0r")["Posterize"] == Set{2, 4});
  CHECK(only("rand-m5-p1-t3a").size() == 3);
}

TEST_CASE("timm's magnitudes are uniform if their deviation is above 100") {
  const std::vector<double> angles = count(timm("rand-m8-mstd101-p1-n1")).at("Rotate");
  CHECK(near(share_below(angles, 0), 0.5, static_cast<double>(angles.size())));
  CHECK(near(share_below(angles, 12), 0.75, static_cast<double>(angles.size())));
  CHECK(most(angles) < 24);
  CHECK(least(angles) > -24);
}

TEST_CASE("timm's weighted sets draw each operation once at most") {
  const Counts counts = count(timm("rand-m9-p1-tweights-n1"));
  const double total = 3 + 2 + 2 + 1 + 1 + 3 * 0.25 + 6 * 0.05;
  CHECK(near(share_of(counts, "Rotate"), 3 / total));
  CHECK(near(share_of(counts, "ShearY"), 2 / total));
  CHECK(near(share_of(counts, "AutoContrast"), 0.25 / total));
  CHECK(near(share_of(counts, "Invert"), 0.05 / total));
  // Rotate second: by weight among what the first draw left.
  Counts both = count(timm("rand-m9-p1-tweights-n2"));
  double expected = 3 / total;
  for (const double first : {2.0, 2.0, 1.0, 1.0, 0.25, 0.25, 0.25, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05}) {
    expected += first / total * 3 / (total - first);
  }
  CHECK(near(share_of(both, "Rotate"), expected));
  for (std::uint64_t sample = 0; sample < 2000; ++sample) {
    std::set<std::string> names;
    const Steps steps = draw(timm("rand-m9-p1-t3aw-n14"), sample);
    for (const Step& step : steps) names.insert(name_of_step(step).name);
    REQUIRE(names.size() == steps.size() - (names.contains("Color") ? 1 : 0));  // Desaturate and Color are one step
  }
}

TEST_CASE("timm's warps draw their interpolation") {
  std::map<Sampling, int> samplings;
  for (std::uint64_t sample = 0; sample < 4000; ++sample) {
    for (const Step& step : draw(timm("rand-m9"), sample)) {
      if (const auto* affine = std::get_if<step::Affine>(&step)) {
        ++samplings[affine->sampling];
        CHECK(affine->fill == bale::Color{128, 128, 128});
      }
      if (const auto* rotate = std::get_if<step::Rotate>(&step)) ++samplings[rotate->sampling];
    }
  }
  CHECK(samplings.size() == 2);
  CHECK(samplings[Sampling::bilinear] > 500);
  CHECK(samplings[Sampling::bicubic] > 500);
}

TEST_CASE("timm's AugMix blends the sum of its chains") {
  double alphas = 0;
  for (std::uint64_t sample = 0; sample < 2000; ++sample) {
    const auto mixture = std::get<step::Mixture>(draw(timm("augmix-m5-w4-d2"), sample).at(0));
    REQUIRE(mixture.rule == step::Mixture::Rule::blend);
    REQUIRE(mixture.chains.size() == 4);
    float sum = 0;
    for (const float weight : mixture.weights) sum += weight;
    REQUIRE(std::abs(sum - 1) < 1e-5F);
    alphas += mixture.share;
    for (const Steps& chain : mixture.chains) {
      REQUIRE(chain.size() <= 2);
      for (const Step& step : chain) {
        const Named named = name_of_step(step);
        if (named.name == "Rotate") REQUIRE(std::abs(named.argument) <= 15);
        if (named.name == "TranslateX") REQUIRE(std::abs(named.argument) <= 0.15 * 500);
      }
    }
  }
  CHECK(std::abs(alphas / 2000 - 0.5) < 0.05);
  const auto each = std::get<step::Mixture>(draw(timm("augmix-b1"), 1).at(0));
  CHECK(each.rule == step::Mixture::Rule::blend_each);
  REQUIRE(each.weights.size() == 3);
  for (const float weight : each.weights) CHECK((weight >= 0 && weight <= 1));
}

TEST_CASE("Beta and Dirichlet draws have the distributions' means and variances") {
  for (const double alpha : {0.1, 0.5, 1.0, 3.0}) {
    INFO(alpha);
    KeyedRandom random{7};
    double sum = 0;
    double squares = 0;
    constexpr int k_num = 40000;
    for (int i = 0; i < k_num; ++i) {
      const std::vector<double> shares = bale::transform_detail::draw_dirichlet(alpha, 4, random);
      sum += shares[2];
      squares += shares[2] * shares[2];
    }
    const double mean = sum / k_num;
    const double variance = squares / k_num - mean * mean;
    CHECK(std::abs(mean - 0.25) < 0.01);
    CHECK(std::abs(variance - 0.25 * 0.75 / (4 * alpha + 1)) < 0.005);
  }
}

TEST_CASE("Normal draws have the distribution's quantiles") {
  KeyedRandom random{1};
  std::vector<double> values;
  for (int i = 0; i < 40000; ++i) values.push_back(bale::transform_detail::portable_normal(random));
  CHECK(near(share_below(values, 0), 0.5));
  CHECK(near(share_below(values, 1), 0.8413447));
  CHECK(near(share_below(values, -2), 0.0227501));
  CHECK(near(share_below(values, 3), 0.9986501));
}

TEST_CASE("Parameters of policies that are out of range are refused") {
  CHECK(refusal(TrivialAugmentWide{.num_magnitude_bins = 1}) == "num_magnitude_bins 1 is not within [2, 65536]");
  CHECK(refusal(RandAugment{.num_ops = 65}) == "num_ops 65 is not within [0, 64]");
  CHECK(refusal(RandAugment{.magnitude = 31}) == "magnitude 31 is not within [0, 30]");
  CHECK(refusal(AugMix{.severity = 11}) == "severity 11 is not within [1, 10]");
  CHECK(refusal(AugMix{.severity = 0}) == "severity 0 is not within [1, 10]");
  CHECK(refusal(AugMix{.mixture_width = 0}) == "mixture_width 0 is not within [1, 64]");
  CHECK(refusal(AugMix{.alpha = 0}) == "alpha 0 is not within [0.0625, 1000000]");
  CHECK(refusal(AugMix{.alpha = std::nan("")}).starts_with("alpha nan is not within"));
  CHECK(refusal(AugMix{.chain_depth = 100}).starts_with("chain_depth 100"));
}

TEST_CASE("Unknown parts of timm's configuration strings are refused by name") {
  for (const char* config : {"rand", "rand-m9-n3-mstd0.5", "rand-mstd1-tweights", "rand-m9-mmax20-p0.7", "original",
                             "original-mstd0.5", "v0r", "3a", "augmix", "augmix-m5-w4-d2-a0.5-b1-mstd1"}) {
    INFO(config);
    CHECK(refusal(timm(config)).empty());
  }
  CHECK(refusal(timm("rand-m9-x3")) == "config \"rand-m9-x3\": unknown part \"x3\"");
  CHECK(refusal(timm("rand-w0")) == "config \"rand-w0\": unknown part \"w0\"");
  CHECK(refusal(timm("rand-inc")) == "config \"rand-inc\": unknown part \"inc\"");
  CHECK(refusal(timm("rand-mstdinf")) == "config \"rand-mstdinf\": unknown part \"mstdinf\"");
  CHECK(refusal(timm("rand-m9.5")) == "config \"rand-m9.5\": no number in \"m9.5\"");
  CHECK(refusal(timm("rand-m9-m8")) == "config \"rand-m9-m8\": second part of its kind: \"m8\"");
  CHECK(refusal(timm("rand-p1.5")) == "config \"rand-p1.5\": not within [0, 1]: \"p1.5\"");
  CHECK(refusal(timm("rand-n99999999999")) == "config \"rand-n99999999999\": no number in \"n99999999999\"");
  CHECK(refusal(timm("rand-tbest")) == "config \"rand-tbest\": unknown set of operations \"tbest\"");
  CHECK(refusal(timm("rand-t3a-tweights")).find("second part") != std::string::npos);
  CHECK(refusal(timm("rand-t3aw-n15")).find("n15 is more than the 14 operations") != std::string::npos);
  CHECK(refusal(timm("rand-")) == "config \"rand-\": unknown part \"\"");
  CHECK(refusal(timm("original-m9")) == "config \"original-m9\": unknown part \"m9\"");
  CHECK(refusal(timm("augmix-n2")) == "config \"augmix-n2\": unknown part \"n2\"");
  CHECK(refusal(timm("augmix-w0")) == "config \"augmix-w0\": not within [1, 64]: \"w0\"");
  CHECK(refusal(timm("autoaugment")) == "config \"autoaugment\": unknown policy \"autoaugment\"");
  CHECK(refusal(timm("")) == "config \"\": unknown policy \"\"");
  CHECK(refusal(TimmAutoAugment{.config = "rand", .interpolation = {}}) == "interpolation is empty");
}
