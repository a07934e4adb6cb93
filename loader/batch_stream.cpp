#include "bale/loader/batch_stream.hpp"

#include <utility>

namespace bale::loader_detail {

BatchStream::BatchStream(EpochOrder order, const RankShare& share, std::uint64_t epoch, std::uint64_t position)
    : order_(std::move(order)),
      first_epoch_(epoch),
      first_position_(position),
      first_(order_.size(), position, share),
      whole_(order_.size(), 0, share) {}

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

}  // namespace bale::loader_detail
