#include "bale/reader/order/rank_plan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/math/rounding.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_limit = std::uint64_t{1} << 62;

void check(std::uint64_t epoch_size, std::uint64_t start, const RankShare& share) {
  const auto refuse = [](const std::string& what) { throw Error(ErrorCode::invalid_argument, what); };
  if (share.batch_size == 0) refuse("a batch size of 0");
  if (share.world_size == 0) refuse("a world size of 0");
  if (share.rank >= share.world_size) refuse(fmt::format("rank {} of {}", share.rank, share.world_size));
  if (share.tail > Tail::uneven) refuse("tail is none of Tail");
  if (start > epoch_size) refuse(fmt::format("position {} of an epoch that has {} samples", start, epoch_size));
  if (epoch_size > k_limit || share.batch_size > k_limit / share.world_size) {
    refuse(fmt::format("batches of {} on {} ranks, or epochs of {}, are too large", share.batch_size, share.world_size,
                       epoch_size));
  }
}

}  // namespace

RankPlan::RankPlan(std::uint64_t epoch_size, std::uint64_t start, const RankShare& share)
    : epoch_size_(epoch_size), start_(start), share_(share) {
  check(epoch_size, start, share);
  const std::uint64_t left = epoch_size - start;
  if (share.tail == Tail::drop) {
    num_batches_ = left / (share.batch_size * share.world_size);
    num_rows_ = num_batches_ * share.batch_size;
  } else {
    num_rows_ = divide_up(left, share.world_size);
    num_batches_ = divide_up(num_rows_, share.batch_size);
  }
}

std::uint64_t RankPlan::num_rows(std::uint64_t batch) const {
  return std::min(share_.batch_size, num_rows_ - batch * share_.batch_size);
}

PlannedRow RankPlan::row(std::uint64_t batch, std::uint64_t index) const {
  const std::uint64_t dealt = (batch * share_.batch_size + index) * share_.world_size + share_.rank;
  const std::uint64_t left = epoch_size_ - start_;
  if (dealt < left) return {PlannedRow::Kind::sample, start_ + dealt};
  if (share_.tail == Tail::uneven) return {};
  if (share_.pads_own) return {PlannedRow::Kind::padding, share_.rank % epoch_size_};
  return {PlannedRow::Kind::padding, (dealt - left) % epoch_size_};
}

std::uint64_t RankPlan::position_after(std::uint64_t batches) const {
  if (batches < num_batches_) return start_ + batches * share_.batch_size * share_.world_size;
  if (share_.tail == Tail::drop) return start_ + num_rows_ * share_.world_size;
  return epoch_size_;
}

}  // namespace bale
