#include "bale/loader/worker/field_filler.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/utf8.hpp"
#include "bale/loader/transform/array_field.hpp"

namespace bale::loader_detail {
namespace {

void require_utf8(Bytes text) {
  std::string_view rest = as_text(text);
  while (!rest.empty()) {
    const std::size_t length = utf8_sequence_length(rest);
    if (length == 0) {
      throw Error(ErrorCode::damaged, fmt::format("text is not UTF-8 at byte {}", text.size() - rest.size()),
                  {.hint = "to get its bytes, give the field the kind bytes"});
    }
    rest.remove_prefix(length);
  }
}

bool has_field(const ShardIndex& index, std::uint64_t sample, const std::string& name) {
  const auto id = index.field_id(name);
  return id && index.extent(sample, *id).present();
}

}  // namespace

void FieldFiller::fill(const Shard& shard, std::uint64_t sample_in_shard, MutableBytes memory, std::size_t row) {
  for (std::size_t field = 0; field < fields_.size(); ++field) {
    const Field& wanted = fields_[field];
    if (wanted.optional && !has_field(shard.index(), sample_in_shard, wanted.source)) {
      places_.leave_out(memory, field, row);
      continue;
    }
    const Bytes stored = shard.read_field(sample_in_shard, wanted.source, scratch_);
    try {
      fill_one(field, stored, memory, row);
    } catch (const Error& error) {
      throw Error(
          error.code(), fmt::format("field {}: {}", printable(wanted.source), error.message()),
          {.path = shard.path(), .key = std::string(shard.index().key(sample_in_shard)), .hint = error.context().hint});
    }
  }
}

void FieldFiller::fill_one(std::size_t field, Bytes stored, MutableBytes memory, std::size_t row) const {
  if (!places_.is_ragged(field)) {
    transform_detail::read_array_field(fields_[field], stored, places_.row(memory, field, row));
  } else {
    if (fields_[field].kind == FieldKind::text) require_utf8(stored);
    FieldCell& cell = places_.cells(memory, field)[row];
    const bool fits = stored.size() <= cell.capacity;
    if (fits && !stored.empty()) {
      std::memcpy(places_.data(memory, field).data() + cell.offset, stored.data(), stored.size());
    }
    cell.bytes = fits ? stored.size() : 0;
    cell.does_not_fit = fits ? 0 : 1;
  }
  places_.present(memory, field)[row] = 1;
}

}  // namespace bale::loader_detail
