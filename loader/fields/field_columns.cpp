#include "bale/loader/fields/field_columns.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace bale::loader_detail {

FieldColumns::FieldColumns(const Dataset& dataset, FieldLayout layout, std::uint32_t batch_size)
    : dataset_(dataset),
      layout_(std::move(layout)),
      places_(layout_.rooms(), batch_size),
      used_bytes_(places_.num_fields()) {}

void FieldColumns::begin_batch(const Ring& ring, std::uint32_t slot) {
  large_.resize(std::size_t{ring.shape().num_slots} * places_.num_fields());
  for (std::size_t field = 0; field < places_.num_fields(); ++field) large(slot, field) = {};
  std::fill(used_bytes_.begin(), used_bytes_.end(), 0);
}

void FieldColumns::place_row(const Ring& ring, std::uint32_t slot, std::uint32_t row, std::size_t shard,
                             std::uint64_t sample) {
  const MutableBytes memory = ring.fields(slot);
  for (std::size_t field = 0; field < places_.num_fields(); ++field) {
    places_.present(memory, field)[row] = 0;
    if (places_.is_ragged(field)) places_.cells(memory, field)[row] = {.offset = used_bytes_[field]};
  }
  if (empty()) return;
  const IndexInUse index = dataset_.use_index(shard);
  for (std::size_t field = 0; field < places_.num_fields(); ++field) {
    if (!places_.is_ragged(field)) continue;
    const std::uint64_t left = places_.room(field).bytes - used_bytes_[field];
    const std::uint64_t bytes = std::min(left, FieldLayout::row_bytes(layout_.fields()[field], *index, sample));
    places_.cells(memory, field)[row].capacity = bytes;
    used_bytes_[field] += bytes;
  }
}

void FieldColumns::empty_row(const Ring& ring, std::uint32_t slot, std::uint32_t row) const {
  for (std::size_t field = 0; field < places_.num_fields(); ++field) places_.leave_out(ring.fields(slot), field, row);
}

void FieldColumns::read_large_fields(const Ring& ring, std::uint32_t slot, std::uint32_t row, const ImageOf& image) {
  const MutableBytes memory = ring.fields(slot);
  const std::uint64_t sample = ring.row(slot, row).sample;
  for (std::size_t field = 0; field < places_.num_fields(); ++field) {
    if (!places_.is_ragged(field) || places_.cells(memory, field)[row].does_not_fit == 0) continue;
    Large& kept = large(slot, field);
    kept.rows.resize(ring.shape().batch_size);
    Large::Row& own = kept.rows[row];
    if (own.is_read && own.sample == sample) continue;
    own = {.sample = sample};
    Scratch scratch;
    const Field& wanted = layout_.fields()[field];
    Bytes bytes = dataset_.read_field(sample, wanted.source, scratch);
    transform_detail::TargetMaker targets(0);  // masks always fit
    if (is_target(wanted.kind))
      bytes = targets.make_rows(wanted, bytes, image(ring.row(slot, row), wanted.view.value_or(0)));
    own.bytes.assign(bytes.begin(), bytes.end());
    own.is_read = true;
  }
}

void FieldColumns::gather(const Ring& ring, std::uint32_t slot, std::uint32_t num_rows) {
  const MutableBytes memory = ring.fields(slot);
  for (std::size_t field = 0; field < places_.num_fields(); ++field) {
    if (!places_.is_ragged(field)) continue;
    const auto cells = places_.cells(memory, field).first(num_rows);
    const bool all_fit =
        std::all_of(cells.begin(), cells.end(), [](const FieldCell& cell) { return cell.does_not_fit == 0; });
    if (all_fit) {
      gather_in_slot(ring, slot, num_rows, field);
    } else {
      gather_in_memory(ring, slot, num_rows, field);
    }
  }
}

/// Rows only move towards the front, in their order, so none overwrites one that has not moved.
void FieldColumns::gather_in_slot(const Ring& ring, std::uint32_t slot, std::uint32_t num_rows,
                                  std::size_t field) const {
  const MutableBytes memory = ring.fields(slot);
  const MutableBytes data = places_.data(memory, field);
  const auto offsets = places_.offsets(memory, field);
  std::uint64_t end = 0;
  for (std::uint32_t row = 0; row < num_rows; ++row) {
    FieldCell& cell = places_.cells(memory, field)[row];
    offsets[row] = static_cast<std::int64_t>(end);
    if (cell.offset != end && cell.bytes > 0) std::memmove(data.data() + end, data.data() + cell.offset, cell.bytes);
    cell.offset = end;
    end += cell.bytes;
  }
  offsets[num_rows] = static_cast<std::int64_t>(end);
}

void FieldColumns::gather_in_memory(const Ring& ring, std::uint32_t slot, std::uint32_t num_rows, std::size_t field) {
  const MutableBytes memory = ring.fields(slot);
  const MutableBytes data = places_.data(memory, field);
  const auto offsets = places_.offsets(memory, field);
  Large& kept = large(slot, field);
  kept.column.clear();
  for (std::uint32_t row = 0; row < num_rows; ++row) {
    const FieldCell& cell = places_.cells(memory, field)[row];
    const Bytes bytes = cell.does_not_fit != 0 ? Bytes(kept.rows[row].bytes) : data.subspan(cell.offset, cell.bytes);
    offsets[row] = static_cast<std::int64_t>(kept.column.size());
    kept.column.insert(kept.column.end(), bytes.begin(), bytes.end());
  }
  offsets[num_rows] = static_cast<std::int64_t>(kept.column.size());
  kept.rows.clear();
}

BatchField FieldColumns::column(const Ring& ring, std::uint32_t slot, std::uint32_t num_rows, std::size_t field) const {
  const MutableBytes memory = ring.fields(slot);
  BatchField column{.field = &layout_.fields()[field],
                    .data = places_.data(memory, field),
                    .present = places_.present(memory, field).first(num_rows)};
  if (!places_.is_ragged(field)) {
    column.data = column.data.first(num_rows * places_.room(field).bytes);
    return column;
  }
  column.offsets = places_.offsets(memory, field).first(std::size_t{num_rows} + 1);
  if (!large(slot, field).column.empty()) column.data = large(slot, field).column;
  column.data = column.data.first(static_cast<std::size_t>(column.offsets.back()));
  return column;
}

}  // namespace bale::loader_detail
