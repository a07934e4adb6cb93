#include "bale/loader/batch/batch_mix.hpp"

namespace bale::loader_detail {
namespace {

std::uint32_t partner_of(const Batch& batch, std::uint32_t row) {
  const auto num_rows = static_cast<std::uint32_t>(batch.size());
  if (batch.image(row).empty()) return row;
  for (std::uint32_t back = 1; back < num_rows; ++back) {
    const std::uint32_t other = (row + num_rows - back) % num_rows;
    if (!batch.image(other).empty()) return other;
  }
  return row;
}

}  // namespace

MixDraw draw_mix_of(const MixOptions& options, const Batch& batch, std::uint64_t seed, const Transform& transform) {
  const MixKey key{
      .seed = seed, .epoch = batch.epoch(), .first_sample = batch.samples()[0], .first_copy = batch.copy(0)};
  return draw_mix(options, key, transform.width, transform.height);
}

RowMix mix_of_row(const Batch& batch, const MixDraw& draw, std::uint32_t row) {
  const std::uint32_t partner = partner_of(batch, row);
  return {.partner = partner, .mixes = partner != row && draw.share < 1};
}

}  // namespace bale::loader_detail
