#include "bale/loader/worker/field_filler.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/utf8.hpp"
#include "bale/formats/shard/sample/field_value.hpp"
#include "bale/loader/transform/fields/array_field.hpp"
#include "bale/loader/transform/targets/read_targets.hpp"

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

/// Adds the field, the shard's path and the sample's key to an error.
template <typename Work>
auto with_field_context(const Field& field, const Shard& shard, std::uint64_t sample, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("field {}: {}", printable(field.source), error.message()),
                {.path = shard.path(), .key = std::string(shard.index().key(sample)), .hint = error.context().hint});
  }
}

}  // namespace

template <typename FillOne>
void FieldFiller::fill_kinds(bool targets, const Shard& shard, std::uint64_t sample_in_shard, MutableBytes memory,
                             std::size_t row, const FillOne& fill_one) {
  for (std::size_t field = 0; field < fields_.size(); ++field) {
    const Field& wanted = fields_[field];
    if (is_target(wanted.kind) != targets) continue;
    if (wanted.optional && !has_field(shard.index(), sample_in_shard, wanted.source)) {
      places_.leave_out(memory, field, row);
      continue;
    }
    const Bytes stored = shard.read_field(sample_in_shard, wanted.source, scratch_);
    with_field_context(wanted, shard, sample_in_shard, [&] { fill_one(field, stored); });
    places_.present(memory, field)[row] = 1;
  }
}

void FieldFiller::fill(const Shard& shard, std::uint64_t sample_in_shard, MutableBytes memory, std::size_t row) {
  fill_kinds(false, shard, sample_in_shard, memory, row,
             [&](std::size_t field, Bytes stored) { fill_one(field, stored, memory, row); });
}

void FieldFiller::fill_one(std::size_t field, Bytes stored, MutableBytes memory, std::size_t row) const {
  if (!places_.is_ragged(field)) {
    return transform_detail::read_array_field(fields_[field], stored, places_.row(memory, field, row));
  }
  if (fields_[field].kind == FieldKind::text) require_utf8(stored);
  store_ragged(field, stored, memory, row);
}

transform_detail::Boxes FieldFiller::boxes(const Shard& shard, std::uint64_t sample_in_shard) {
  for (const Field& field : fields_) {
    if (field.kind != FieldKind::boxes) continue;
    if (field.optional && !has_field(shard.index(), sample_in_shard, field.source)) return {};
    const Bytes stored = shard.read_field(sample_in_shard, field.source, scratch_);
    return with_field_context(field, shard, sample_in_shard,
                              [&] { return transform_detail::read_boxes(stored, field).boxes; });
  }
  return {};
}

std::optional<std::int64_t> FieldFiller::label(const Shard& shard, std::uint64_t sample_in_shard,
                                               const std::string& field) {
  if (!has_field(shard.index(), sample_in_shard, field)) return std::nullopt;
  const Bytes stored = shard.read_field(sample_in_shard, field, scratch_);
  const std::int64_t label = field_label(field, stored);
  if (label != k_no_label) return label;
  constexpr std::size_t k_shown_bytes = 40;
  throw Error(ErrorCode::damaged,
              fmt::format("field {}: \"{}\" is not a whole number, so no label", printable(field),
                          printable(as_text(stored).substr(0, k_shown_bytes))),
              {.path = shard.path(), .key = std::string(shard.index().key(sample_in_shard))});
}

bool FieldFiller::has_targets() const {
  return std::any_of(fields_.begin(), fields_.end(), [](const Field& field) { return is_target(field.kind); });
}

void FieldFiller::fill_targets(const Shard& shard, std::uint64_t sample_in_shard,
                               std::span<const transform_detail::ImageSteps> images, MutableBytes memory,
                               std::size_t row) {
  fill_kinds(true, shard, sample_in_shard, memory, row, [&](std::size_t field, Bytes stored) {
    const transform_detail::ImageSteps& image = images[fields_[field].view.value_or(0)];
    if (!places_.is_ragged(field)) {
      return targets_.make_mask(fields_[field], stored, image, places_.row(memory, field, row));
    }
    store_ragged(field, targets_.make_rows(fields_[field], stored, image), memory, row);
  });
}

void FieldFiller::store_ragged(std::size_t field, Bytes bytes, MutableBytes memory, std::size_t row) const {
  FieldCell& cell = places_.cells(memory, field)[row];
  const bool fits = bytes.size() <= cell.capacity;
  if (fits && !bytes.empty()) {
    std::memcpy(places_.data(memory, field).data() + cell.offset, bytes.data(), bytes.size());
  }
  cell.bytes = fits ? bytes.size() : 0;
  cell.does_not_fit = fits ? 0 : 1;
}

}  // namespace bale::loader_detail
