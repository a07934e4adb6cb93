#include "bale/loader/ring/field_places.hpp"

#include <algorithm>

#include "bale/formats/base/math/rounding.hpp"

namespace bale::loader_detail {

FieldSlots::FieldSlots(std::span<const FieldRoom> rooms, std::uint64_t batch_size) : batch_size_(batch_size) {
  constexpr std::uint64_t k_alignment_bytes = 64;
  const auto place = [this](std::uint64_t bytes) {
    const std::uint64_t at = round_up(total_bytes_, k_alignment_bytes);
    total_bytes_ = at + bytes;
    return at;
  };
  for (const FieldRoom& room : rooms) {
    Block block{.room = room};
    block.present_at = place(batch_size);
    if (room.is_ragged) {
      block.cells_at = place(batch_size * sizeof(FieldCell));
      block.offsets_at = place((batch_size + 1) * sizeof(std::int64_t));
      block.data_at = place(room.bytes);
    } else {
      block.data_at = place(room.bytes * batch_size);
    }
    blocks_.push_back(block);
  }
}

void FieldSlots::leave_out(MutableBytes slot, std::size_t field, std::size_t row) const {
  present(slot, field)[row] = 0;
  if (is_ragged(field)) {
    FieldCell& cell = cells(slot, field)[row];
    cell.bytes = 0;
    cell.does_not_fit = 0;
  } else {
    const MutableBytes place = this->row(slot, field, row);
    std::fill(place.begin(), place.end(), std::byte{0});
  }
}

}  // namespace bale::loader_detail
