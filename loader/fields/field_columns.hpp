// FieldColumns: the fields of the batches in the ring, as the owner sees them.
//
// Rows of a ragged field have the places that the index says they need. A row that turns out larger (a compressed
// field, a substitute for a bad sample) is checked by the worker and then read again here, into memory of its own.
//
// Threads: of one slot, used by one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bale/formats/shard/sample.hpp"
#include "bale/loader/fields/field_layout.hpp"
#include "bale/loader/ring/field_places.hpp"
#include "bale/loader/ring/ring.hpp"
#include "bale/loader/transform/targets/target_maker.hpp"
#include "bale/reader/dataset.hpp"

namespace bale::loader_detail {

class FieldColumns {
 public:
  /// `dataset` must outlive this.
  FieldColumns(const Dataset& dataset, FieldLayout layout, std::uint32_t batch_size);

  bool empty() const { return layout_.fields().empty(); }
  const FieldLayout& layout() const { return layout_; }
  const FieldSlots& places() const { return places_; }

  // While a batch is opened in a slot. Rows are placed in their order.

  void begin_batch(const Ring& ring, std::uint32_t slot);
  /// Gives the row its places. Throws what Dataset::use_index() throws; the row then has no room.
  void place_row(const Ring& ring, std::uint32_t slot, std::uint32_t row, std::size_t shard, std::uint64_t sample);
  /// Makes a row without a sample.
  void empty_row(const Ring& ring, std::uint32_t slot, std::uint32_t row) const;

  // When all rows are finished.

  /// Reads the fields of row `row` that do not fit in the slot, unless they were read. Throws what
  /// Dataset::read_field() throws.
  /// `image` says what was done to the row's image in a view; targets follow it.
  using ImageOf = std::function<transform_detail::ImageSteps(const Row& row, std::uint32_t view)>;
  void read_large_fields(const Ring& ring, std::uint32_t slot, std::uint32_t row, const ImageOf& image);
  /// Puts the rows of ragged fields end to end. May be repeated after it threw std::bad_alloc.
  void gather(const Ring& ring, std::uint32_t slot, std::uint32_t num_rows);
  /// A field of a gathered batch.
  BatchField column(const Ring& ring, std::uint32_t slot, std::uint32_t num_rows, std::size_t field) const;

 private:
  /// The rows of one ragged field in one slot, if not all of them fit.
  struct Large {
    struct Row {
      std::uint64_t sample = 0;
      bool is_read = false;
      std::vector<std::byte> bytes{};
    };
    std::vector<Row> rows{};
    std::vector<std::byte> column{};  // all rows, end to end
  };
  Large& large(std::uint32_t slot, std::size_t field) { return large_[slot * places_.num_fields() + field]; }
  const Large& large(std::uint32_t slot, std::size_t field) const {
    return large_[slot * places_.num_fields() + field];
  }
  void gather_in_slot(const Ring& ring, std::uint32_t slot, std::uint32_t num_rows, std::size_t field) const;
  void gather_in_memory(const Ring& ring, std::uint32_t slot, std::uint32_t num_rows, std::size_t field);

  const Dataset& dataset_;
  FieldLayout layout_;
  FieldSlots places_;
  std::vector<std::uint64_t> used_bytes_;  // per field, of the batch that is opened
  std::vector<Large> large_{};             // slots x fields; made by begin_batch()
};

}  // namespace bale::loader_detail
