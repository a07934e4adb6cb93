#include "bale/formats/image/simd/simd_target.hpp"

#include "bale/formats/base/text/human.hpp"
#include "bale/formats/image/simd/kernel_targets.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include <fmt/format.h>
#include <hwy/targets.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/image/simd/cpu_bits.hpp"

namespace bale {
namespace {

/// All targets of this build and this CPU: no limit applies.
const std::vector<std::int64_t>& all_targets() {
  static const std::vector<std::int64_t> targets = [] {
    hwy::SetSupportedTargetsForTest(0);
    return hwy::SupportedAndGeneratedTargets();
  }();
  return targets;
}

void use_targets(std::int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (const std::int64_t target : all_targets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

std::string simd_target() { return hwy::TargetName(hwy::SupportedAndGeneratedTargets().front()); }

void limit_simd(std::string_view name) {
  const std::vector<std::int64_t>& all = all_targets();
  if (name.empty()) {
    use_targets(0);
    image_detail::set_bmi2_allowed(true);
    image_detail::assume_wide_units(false);
    return;
  }
  const auto found = std::find_if(all.begin(), all.end(), [&](std::int64_t target) {
    return lower_case(name) == lower_case(hwy::TargetName(target));
  });
  if (found == all.end()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("no SIMD target of this build and this CPU is named `{}`", name),
                {.hint = fmt::format("use one of {}", joined(simd_targets()))});
  }
  // A better target has a lower bit.
  std::int64_t allowed = 0;
  std::for_each(found, all.end(), [&](std::int64_t target) { allowed |= target; });
  use_targets(allowed);
  image_detail::set_bmi2_allowed(*found <= HWY_AVX2);
  image_detail::assume_wide_units(*found <= HWY_AVX3_DL);
}

void limit_simd_by_environment() {
  if (const char* const name = std::getenv("BALE_SIMD"); name != nullptr && *name != '\0') limit_simd(name);
}

}  // namespace bale
