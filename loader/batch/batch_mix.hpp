// How the rows of a batch are mixed by mixup and cutmix: the same in ordinary memory and on a device.
//
// Threads: pure functions of batches, which one thread uses at a time.
#pragma once

#include <cstdint>

#include "bale/loader/batch.hpp"
#include "bale/loader/transform/mix_draw.hpp"

namespace bale::loader_detail {

/// How one row is mixed.
struct RowMix {
  std::uint32_t partner = 0;  // the row that is mixed in or pasted; the row itself if it has no partner
  bool mixes = false;         // false: its pixels stay as they are
};

MixDraw draw_mix_of(const MixOptions& options, const Batch& batch, std::uint64_t seed, const Transform& transform);

/// The partner is the nearest row before `row` that has an image; the last row comes before the first one. A row
/// without an image has no partner.
RowMix mix_of_row(const Batch& batch, const MixDraw& draw, std::uint32_t row);

}  // namespace bale::loader_detail
