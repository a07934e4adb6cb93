// RowWriter: writes into rows of the ring what workers are asked for, and rows without a sample.
//
// Not thread-safe: the Session's lock guards it.
#pragma once

#include <cstdint>

#include "bale/loader/fields/field_columns.hpp"
#include "bale/loader/fields/row_layout.hpp"
#include "bale/loader/loader_options.hpp"
#include "bale/loader/ring/ring.hpp"
#include "bale/reader/dataset.hpp"

namespace bale::loader_detail {

class RowWriter {
 public:
  /// All must outlive this.
  RowWriter(const LoaderOptions& options, const Dataset& dataset, const RowLayout& layout, FieldColumns& fields,
            Ring& ring)
      : options_(options), dataset_(dataset), layout_(layout), fields_(fields), ring_(ring) {}

  /// Asks for a sample in a row of batch number `batch`, with its image from `offset` on. A sample that was blocked, or
  /// whose shard is damaged, fails at once.
  void ask(std::uint32_t slot, std::uint32_t row, std::uint64_t batch, const Pick& pick, std::uint64_t offset,
           bool is_blocked);
  /// Gives the fields of a row their places. If the index is damaged, they have no room, and the row fails.
  void place_fields(std::uint32_t slot, std::uint32_t row, const Pick& pick);
  /// Completes a row that has no sample.
  void leave_out(std::uint32_t slot, std::uint32_t row, std::uint64_t batch, std::uint64_t offset);
  /// Makes a row without a sample: zeros, no label, mask 0.
  void empty(std::uint32_t slot, std::uint32_t row);

 private:
  const LoaderOptions& options_;
  const Dataset& dataset_;
  const RowLayout& layout_;
  FieldColumns& fields_;
  Ring& ring_;
};

}  // namespace bale::loader_detail
