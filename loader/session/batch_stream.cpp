#include "bale/loader/session/batch_stream.hpp"

#include <utility>

namespace bale::loader_detail {
namespace {

std::uint64_t num_rows_of(const RankPlan& plan, std::uint64_t batch_size) {
  const std::uint64_t batches = plan.num_batches();
  return batches == 0 ? 0 : (batches - 1) * batch_size + plan.num_rows(batches - 1);
}

}  // namespace

BatchStream::BatchStream(EpochOrder order, const RankShare& share, std::uint64_t epoch, std::uint64_t position)
    : order_(std::move(order)),
      first_epoch_(epoch),
      first_(order_.size(), position, share),
      whole_(order_.size(), 0, share),
      batch_size_(share.batch_size),
      first_rows_(num_rows_of(first_, batch_size_)),
      whole_rows_(num_rows_of(whole_, batch_size_)) {}

std::optional<BatchPlace> BatchStream::place(std::uint64_t n) const {
  if (n < first_.num_batches()) return BatchPlace{first_epoch_, n};
  if (whole_.num_batches() == 0) return std::nullopt;
  n -= first_.num_batches();
  return BatchPlace{first_epoch_ + 1 + n / whole_.num_batches(), n % whole_.num_batches()};
}

StreamRow BatchStream::row(const BatchPlace& place, std::uint64_t i) const {
  StreamRow row{.planned = plan_of(place.epoch).row(place.index, i), .pick = {}};
  if (row.planned.kind != PlannedRow::Kind::empty) row.pick = order_.at(place.epoch, row.planned.position);
  return row;
}

std::optional<StreamRow> BatchStream::nth_row(std::uint64_t n, BatchPlace& place) const {
  place.epoch = first_epoch_;
  if (n >= first_rows_) {
    if (whole_rows_ == 0) return std::nullopt;
    n -= first_rows_;
    place.epoch += 1 + n / whole_rows_;
    n %= whole_rows_;
  }
  place.index = n / batch_size_;  // all batches of an epoch except the last are full
  return row(place, n % batch_size_);
}

}  // namespace bale::loader_detail
