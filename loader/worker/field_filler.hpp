// FieldFiller: fills the places of a row's fields, next to its image.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/shard/sample.hpp"
#include "bale/formats/shard/shard.hpp"
#include "bale/loader/ring/field_places.hpp"
#include "bale/loader/transform/field.hpp"
#include "bale/loader/transform/targets/target_maker.hpp"

namespace bale::loader_detail {

class FieldFiller {
 public:
  /// `fields` have kind, type and shape, one per place, and must outlive this.
  /// Masks of more than `max_pixels` pixels are bad.
  FieldFiller(const std::vector<Field>& fields, FieldSlots places, std::uint64_t max_pixels)
      : fields_(fields), places_(std::move(places)), targets_(max_pixels) {}

  /// Reads all fields of a sample but its targets into row `row` of `memory`, the memory for fields of a slot. Throws
  /// `not_found` if the sample lacks a field that is not optional, `unsupported` for an array of another type or shape,
  /// `damaged` for text that is not UTF-8, and what Shard::read_field() throws. All errors have path and key.
  void fill(const Shard& shard, std::uint64_t sample_in_shard, MutableBytes memory, std::size_t row);

  /// The boxes of a sample in the first field of boxes, as they are stored; none if it lacks the field, which is
  /// optional. Throws as fill_targets() does.
  transform_detail::Boxes boxes(const Shard& shard, std::uint64_t sample_in_shard);

  /// The label in the field of this name; none if the sample lacks the field. Throws `damaged` for text that is no
  /// label, and what Shard::read_field() throws.
  std::optional<std::int64_t> label(const Shard& shard, std::uint64_t sample_in_shard, const std::string& field);

  bool has_targets() const;
  /// Reads the targets of a sample, and moves each as the image of its view; `images` has one entry per view. Throws as
  /// fill() does, and for a target that cannot be read or cannot follow the image.
  void fill_targets(const Shard& shard, std::uint64_t sample_in_shard,
                    std::span<const transform_detail::ImageSteps> images, MutableBytes memory, std::size_t row);

 private:
  template <typename FillOne>
  void fill_kinds(bool targets, const Shard& shard, std::uint64_t sample_in_shard, MutableBytes memory, std::size_t row,
                  const FillOne& fill_one);
  void fill_one(std::size_t field, Bytes stored, MutableBytes memory, std::size_t row) const;
  void store_ragged(std::size_t field, Bytes bytes, MutableBytes memory, std::size_t row) const;

  const std::vector<Field>& fields_;
  FieldSlots places_;
  transform_detail::TargetMaker targets_;
  Scratch scratch_{};
};

}  // namespace bale::loader_detail
