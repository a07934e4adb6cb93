// FieldFiller: fills the places of a row's fields, beside its image.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/shard/sample.hpp"
#include "bale/formats/shard/shard.hpp"
#include "bale/loader/ring/field_places.hpp"
#include "bale/loader/transform/field.hpp"

namespace bale::loader_detail {

class FieldFiller {
 public:
  /// `fields` have kind, type and shape, one per place, and must outlive this.
  FieldFiller(const std::vector<Field>& fields, FieldPlaces places) : fields_(fields), places_(std::move(places)) {}

  /// Reads all fields of a sample into row `row` of `memory`, the memory for fields of a slot. Throws `not_found` if
  /// the sample lacks a field that is not optional, `unsupported` for an array of another type or shape, `damaged` for
  /// text that is not UTF-8, and what Shard::read_field() throws. All errors have path and key.
  void fill(const Shard& shard, std::uint64_t sample_in_shard, MutableBytes memory, std::size_t row);

 private:
  void fill_one(std::size_t field, Bytes stored, MutableBytes memory, std::size_t row) const;

  const std::vector<Field>& fields_;
  FieldPlaces places_;
  Scratch scratch_{};
};

}  // namespace bale::loader_detail
