// Compiled without floating-point contraction, so that draws are the same on every CPU.
#include "bale/loader/transform/mix_draw.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/loader/transform/random/portable_math.hpp"

namespace bale {
namespace {

using transform_detail::draw_beta;
using transform_detail::k_least_alpha;
using transform_detail::k_most_alpha;

/// Each draw has its own random sequence. The values must not change: they are part of what a seed means.
enum class MixStream : std::uint64_t { whether = 0x6d69'7801, kind, share, place };

KeyedRandom mix_stream(const MixKey& key, MixStream stream) {
  return {key.seed, key.epoch, key.first_sample, key.first_copy, static_cast<std::uint64_t>(stream)};
}

void check_alpha(const char* option, double alpha) {
  if (alpha == 0 || (alpha >= k_least_alpha && alpha <= k_most_alpha)) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("mix: {} {} is neither 0 nor within [{}, {}]", option, alpha, k_least_alpha, k_most_alpha));
}

void check_mix_probability(const char* option, double probability) {
  if (probability >= 0 && probability <= 1) return;
  throw Error(ErrorCode::invalid_argument, fmt::format("mix: {} {} is not within [0, 1]", option, probability));
}

}  // namespace

void check_mix(const MixOptions& options) {
  check_alpha("mixup_alpha", options.mixup_alpha);
  check_alpha("cutmix_alpha", options.cutmix_alpha);
  check_mix_probability("probability", options.probability);
  check_mix_probability("switch_probability", options.switch_probability);
}

MixDraw draw_mix(const MixOptions& options, const MixKey& key, std::uint32_t width, std::uint32_t height) {
  MixDraw draw;
  if (!options.active() || mix_stream(key, MixStream::whether).uniform() >= options.probability) return draw;
  const bool both = options.mixup_alpha > 0 && options.cutmix_alpha > 0;
  draw.pastes =
      both ? mix_stream(key, MixStream::kind).uniform() < options.switch_probability : options.cutmix_alpha > 0;
  KeyedRandom shares = mix_stream(key, MixStream::share);
  draw.share = draw_beta(draw.pastes ? options.cutmix_alpha : options.mixup_alpha, shares);
  if (!draw.pastes) return draw;

  KeyedRandom places = mix_stream(key, MixStream::place);
  const auto x = static_cast<std::uint32_t>(places.below(width));
  const auto y = static_cast<std::uint32_t>(places.below(height));
  const double half = 0.5 * std::sqrt(1 - draw.share);
  const auto half_width = static_cast<std::uint32_t>(half * width);
  const auto half_height = static_cast<std::uint32_t>(half * height);
  draw.left = x - std::min(x, half_width);
  draw.top = y - std::min(y, half_height);
  draw.right = std::min(x + half_width, width);
  draw.bottom = std::min(y + half_height, height);
  // The box was clipped at the edges and rounded, so the share is computed again.
  const double area = static_cast<double>(draw.right - draw.left) * (draw.bottom - draw.top);
  draw.share = 1 - area / (static_cast<double>(width) * height);
  return draw;
}

}  // namespace bale
