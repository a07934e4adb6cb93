// FieldLayout: which fields batches carry, and how many bytes a batch needs for them. Immutable; safe in any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "bale/formats/shard/shard_index.hpp"
#include "bale/loader/loader_options.hpp"
#include "bale/loader/ring/field_places.hpp"
#include "bale/loader/transform/field.hpp"
#include "bale/reader/dataset.hpp"

namespace bale::loader_detail {

// LargestRows: how many bytes a batch can need, from the sizes of all samples.

/// The most bytes that a batch can need: the largest samples, each as often as one batch can contain it. Pages that no
/// batch uses are never allocated; only their address space is reserved.
class LargestRows {
 public:
  LargestRows(std::uint64_t num_rows, std::uint64_t max_deliveries)
      : num_rows_(num_rows), max_deliveries_(std::clamp<std::uint64_t>(max_deliveries, 1, num_rows)) {}

  void add(std::uint64_t bytes) {
    if (smallest_.size() * max_deliveries_ < num_rows_) {
      smallest_.push(bytes);
    } else if (bytes > smallest_.top()) {
      smallest_.pop();
      smallest_.push(bytes);
    }
  }

  /// Adds up the rows and removes them.
  std::uint64_t total() {
    std::uint64_t sum = 0;
    // The smallest sample gets the rows that the larger ones leave.
    std::uint64_t rows_left = num_rows_;
    for (std::uint64_t samples = smallest_.size(); samples > 0; --samples) {
      const std::uint64_t others = std::min(rows_left, (samples - 1) * max_deliveries_);
      sum += smallest_.top() * std::min(rows_left - others, max_deliveries_);
      rows_left = others;
      smallest_.pop();
    }
    return sum;
  }

 private:
  std::uint64_t num_rows_;
  std::uint64_t max_deliveries_;
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> smallest_;
};

/// Throws `invalid_argument` if no sample has the fields that LoaderOptions name for image and label, or none is an
/// image's by its name. As long as shards are counted while they are read, the first one speaks for all.
void require_image_and_label(const Dataset& dataset, const LoaderOptions& options);

class FieldLayout {
 public:
  /// Reads the first array of each field of arrays whose type or shape is not given, and, for ragged fields, the
  /// indexes of up to 1,024 shards. One batch contains a sample at most `max_deliveries` times. Throws
  /// `invalid_argument` if no sample has a field, `unsupported` and `damaged` for arrays that batches do not carry, and
  /// what Dataset::use_index() throws.
  FieldLayout(const Dataset& dataset, const LoaderOptions& options, std::uint64_t max_deliveries);

  /// With kind, type and shape.
  const std::vector<Field>& fields() const { return fields_; }
  /// One per field.
  const std::vector<FieldRoom>& rooms() const { return rooms_; }
  /// Bytes to reserve for one row of a ragged field: exact unless the field is compressed. 0 if the sample lacks it.
  static std::uint64_t row_bytes(const Field& field, const ShardIndex& index, std::uint64_t sample);

 private:
  std::vector<Field> fields_;
  std::vector<FieldRoom> rooms_;
};

}  // namespace bale::loader_detail
