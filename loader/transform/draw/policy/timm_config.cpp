// Source: timm 1.0.15, data/auto_augment.py: the meaning of the parts. timm passes over parts that it does not know if
// they have no digit, such as "inc" and "mstdinf"; here they are refused.
#include "bale/loader/transform/draw/policy/timm_config.hpp"

#include <charconv>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/draw/policy/policy.hpp"

namespace bale::transform_detail {
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
