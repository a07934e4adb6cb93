#include "bale/loader/session/row_writer.hpp"

#include <algorithm>
#include <optional>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/error_reason.hpp"

namespace bale::loader_detail {
namespace {

DrawKey key_of(const Pick& pick, std::uint64_t epoch, std::uint64_t seed) {
  if (pick.pass) epoch = epoch - counted_epoch(epoch) + *pick.pass;
  return {.seed = seed, .epoch = epoch, .sample = pick.sample - pick.first, .copy = pick.copy};
}

}  // namespace

void RowWriter::ask(std::uint32_t slot, std::uint32_t row, std::uint64_t batch, const Pick& pick, std::uint64_t offset,
                    bool is_blocked) {
  const auto [shard, sample_in_shard] = dataset_.position(pick.sample);
  Row& asked = ring_.row(slot, row);
  asked.sample = pick.sample;
  asked.key = key_of(pick, ring_.slot(slot).epoch, *options_.augment_seed);
  asked.source = static_cast<std::uint32_t>(pick.source);
  asked.shard = static_cast<std::uint32_t>(shard);
  asked.sample_in_shard = sample_in_shard;
  asked.offset = offset;
  ring_.samples(slot)[row] = pick.sample;
  std::optional<Error> error;
  if (is_blocked) error.emplace(ErrorCode::damaged, "blocked: this sample crashed a worker earlier");
  try {
    asked.capacity = layout_.row_bytes(shard, sample_in_shard);
    const std::int64_t label =
        options_.label_field.empty() ? dataset_.label_in_shard(shard, sample_in_shard) : k_no_label;
    ring_.labels(slot)[row] = label == k_no_label ? options_.no_label : label;
    asked.identity = dataset_.shard_identity(shard);
  } catch (const Error& caught) {  // if a shard is damaged, its samples fail, not the stream
    if (!is_data_error(caught)) throw;
    error = caught;
    asked.capacity = options_.transform.image_bytes();
    ring_.labels(slot)[row] = options_.no_label;
  }
  ring_.prepare_row(slot, row, batch, error ? RowPhase::failed : RowPhase::free);
  if (error) set_error(asked, *error, FaultOf::sample);
}

void RowWriter::place_fields(std::uint32_t slot, std::uint32_t row, const Pick& pick) {
  if (fields_.empty()) return;
  const auto [shard, sample_in_shard] = dataset_.position(pick.sample);
  try {
    fields_.place_row(ring_, slot, row, shard, sample_in_shard);
  } catch (const Error& caught) {
    if (!is_data_error(caught)) throw;
  }
}

void RowWriter::leave_out(std::uint32_t slot, std::uint32_t row, std::uint64_t batch, std::uint64_t offset) {
  Row& left_out = ring_.row(slot, row);
  left_out.key = {};
  left_out.source = 0;
  left_out.offset = offset;
  left_out.capacity = options_.transform.image_bytes();
  ring_.prepare_row(slot, row, batch, RowPhase::done);
  ring_.samples(slot)[row] = 0;
  empty(slot, row);
}

void RowWriter::empty(std::uint32_t slot, std::uint32_t row) {
  Row& emptied = ring_.row(slot, row);
  emptied.bytes = 0;
  emptied.encoded = {};
  emptied.source_width = 0;
  emptied.source_height = 0;
  ring_.mask(slot)[row] = 0;
  ring_.labels(slot)[row] = options_.no_label;
  fields_.empty_row(ring_, slot, row);
  if (!options_.transform.has_fixed_shape()) return;
  const auto clear = [](MutableBytes place) { std::fill(place.begin(), place.end(), std::byte{0}); };
  clear(ring_.pixels(slot).subspan(emptied.offset, emptied.capacity));
  for (std::size_t view = 0; view < layout_.views().num_further(); ++view) {
    clear(layout_.views().row(ring_.pixels(slot), view, row));
  }
}

}  // namespace bale::loader_detail
