#include "bale/tools/measure/verdicts/tune_verdict.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace bale::tools {
namespace {

constexpr double k_hardly_faster = 1.5;

using Stages = std::span<const std::pair<Stage, StageResult>>;

std::optional<double> rate_of(Stages stages, Stage stage) {
  const auto found = std::find_if(stages.begin(), stages.end(), [&](const auto& one) { return one.first == stage; });
  if (found == stages.end() || found->second.images_per_s() <= 0) return std::nullopt;
  return found->second.images_per_s();
}

std::optional<double> either(std::optional<double> first, std::optional<double> second) {
  return first ? first : second;
}

}  // namespace

std::optional<Stage> limiting_stage(Stages stages) {
  const std::optional<double> read = rate_of(stages, Stage::read);
  const std::optional<double> verify = rate_of(stages, Stage::verify);
  const std::optional<double> pipeline = either(rate_of(stages, Stage::train), rate_of(stages, Stage::decode));
  if (!pipeline || (!read && !verify)) return std::nullopt;
  if (read && *read < k_hardly_faster * *pipeline) return Stage::read;
  if (verify && *verify < k_hardly_faster * *pipeline) return Stage::verify;
  return Stage::decode;
}

std::string bench_advice(Stages stages) {
  const std::optional<Stage> limiting = limiting_stage(stages);
  if (!limiting) return {};
  const double pipeline = *either(rate_of(stages, Stage::train), rate_of(stages, Stage::decode));
  const double read = *either(rate_of(stages, Stage::read), rate_of(stages, Stage::verify));
  switch (*limiting) {
    case Stage::read:
      return fmt::format(
          "You are read-bound: the storage gives {:.0f} images/s, and the whole pipeline makes {:.0f} of them. Try "
          "a block shuffle (--order block), a faster or nearer disk, or smaller stored images.",
          read, pipeline);
    case Stage::verify:
      return fmt::format("You are bound by comparing checksums, at {:.0f} images/s. Try more workers (bale tune).",
                         *rate_of(stages, Stage::verify));
    default:
      return fmt::format(
          "You are decode-bound: reading alone is {:.1f} times as fast as the whole pipeline. Try more workers if "
          "cores are left (bale tune), seek points (bale index --seek-points), or smaller stored images (bale "
          "pack --resize-short 256).",
          read / pipeline);
  }
}

}  // namespace bale::tools
