// The configuration strings of timm's auto_augment.py, such as "rand-m9-mstd0.5-inc1".
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "bale/loader/transform/draw/policy/timm_operations.hpp"

namespace bale::transform_detail {

/// A member that the chosen family does not have keeps its default.
struct TimmConfig {
  enum class Family : std::uint8_t { policy, rand, augmix };

  Family family = Family::rand;
  std::span<const TimmSubPolicy> policy{};     // policy: one of them is drawn
  std::span<const TimmWeighted> operations{};  // rand, augmix
  bool is_weighted = false;                    // rand: operations are drawn by weight, each at most once
  double magnitude = 10;                       // rand, augmix
  TimmNoise noise{};
  std::uint32_t num_operations = 2;  // rand: n
  double p = 0.5;                    // rand: of each operation
  std::uint32_t num_chains = 3;      // augmix: w
  std::uint32_t depth = 0;           // augmix: d; 0: drawn from 1 to 3
  double alpha = 1;                  // augmix: a
  bool blends_each = false;          // augmix: b
};

/// Throws `invalid_argument`, naming the part of the string that is unknown or out of range.
TimmConfig parse_timm_config(std::string_view config);

/// "original", "originalr", "v0", "v0r" or "3a"; empty for other names.
std::span<const TimmSubPolicy> timm_policy(std::string_view name);

/// "weights", "3aw", "3a", or "" for the usual set, which `increasing` chooses a variant of; empty for other names.
std::span<const TimmWeighted> timm_rand_operations(std::string_view name, bool increasing);

std::span<const TimmWeighted> timm_augmix_operations();

}  // namespace bale::transform_detail
