// FieldSlots: where the fields of a batch are in a slot of the ring.
//
// A field of fixed size has one place per row, so that it is one array. A ragged field has room for all rows together;
// the owner gives each row a part of it before workers fill the row (FieldCell), and puts the rows end to end when the
// batch is complete. Rows that do not fit are not in the slot.
//
// Immutable; any thread and process. All values in a slot are plain data: a worker may die while it writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/loader/transform/transform.hpp"

namespace bale::loader_detail {

struct FieldRoom {
  bool is_ragged = false;
  std::uint64_t bytes = 0;  // of one row; if ragged, of all rows of a batch
};

/// One row of a ragged field.
struct FieldCell {
  // The request.
  std::uint64_t offset;    // in the field's data
  std::uint64_t capacity;  // in bytes
  // The result.
  std::uint64_t bytes;         // 0 if the row does not fit
  std::uint64_t does_not_fit;  // 1: the field was read and checked, but is larger than the capacity
};

class FieldSlots {
 public:
  FieldSlots(std::span<const FieldRoom> rooms, std::uint64_t batch_size);

  std::size_t num_fields() const { return blocks_.size(); }
  bool is_ragged(std::size_t field) const { return blocks_[field].room.is_ragged; }
  const FieldRoom& room(std::size_t field) const { return blocks_[field].room; }
  /// Of all fields together, per slot.
  std::uint64_t total_bytes() const { return total_bytes_; }

  // Of field number `field` in the memory for fields of a slot.

  /// One per row: 1 if the sample has the field.
  std::span<std::uint8_t> present(MutableBytes slot, std::size_t field) const {
    return values<std::uint8_t>(slot, blocks_[field].present_at, batch_size_);
  }
  /// Fixed size: all rows. Ragged: the room.
  MutableBytes data(MutableBytes slot, std::size_t field) const {
    const Block& block = blocks_[field];
    return slot.subspan(block.data_at, block.room.is_ragged ? block.room.bytes : block.room.bytes * batch_size_);
  }
  /// The place of a row of a field of fixed size.
  MutableBytes row(MutableBytes slot, std::size_t field, std::size_t row) const {
    const Block& block = blocks_[field];
    return slot.subspan(block.data_at + row * block.room.bytes, block.room.bytes);
  }
  /// Of a ragged field, one per row.
  std::span<FieldCell> cells(MutableBytes slot, std::size_t field) const {
    return values<FieldCell>(slot, blocks_[field].cells_at, batch_size_);
  }
  /// Of a ragged field, one per row and one more. The owner writes them when the batch is complete.
  std::span<std::int64_t> offsets(MutableBytes slot, std::size_t field) const {
    return values<std::int64_t>(slot, blocks_[field].offsets_at, batch_size_ + 1);
  }
  /// Makes a row of a field empty: zeros, or no bytes.
  void leave_out(MutableBytes slot, std::size_t field, std::size_t row) const;

 private:
  struct Block {
    FieldRoom room{};
    std::uint64_t present_at = 0;
    std::uint64_t cells_at = 0;
    std::uint64_t offsets_at = 0;
    std::uint64_t data_at = 0;
  };
  template <typename Value>
  static std::span<Value> values(MutableBytes slot, std::uint64_t at, std::uint64_t count) {
    return {reinterpret_cast<Value*>(slot.data() + at), count};
  }

  std::uint64_t batch_size_;
  std::vector<Block> blocks_;
  std::uint64_t total_bytes_ = 0;
};

// ViewLayout: where the images of each view are in a slot of the ring. The first view has the start of the slot. A
// further view has a block of its own behind it, with one place per row, so that each view is one array.
class ViewLayout {
 public:
  /// Preconditions: if there are further views, all have a fixed shape. `first_bytes` is the size of the first view's
  /// block.
  ViewLayout(std::uint64_t first_bytes, std::span<const Transform> further, std::uint64_t batch_size)
      : total_bytes_(first_bytes) {
    constexpr std::uint64_t k_alignment_bytes = 64;
    for (const Transform& view : further) {
      const std::uint64_t offset = (total_bytes_ + k_alignment_bytes - 1) / k_alignment_bytes * k_alignment_bytes;
      blocks_.push_back({.offset = offset, .image_bytes = view.image_bytes()});
      total_bytes_ = offset + view.image_bytes() * batch_size;
    }
  }

  /// Number of further views.
  std::size_t num_further() const { return blocks_.size(); }
  /// Of all views together.
  std::uint64_t total_bytes() const { return total_bytes_; }

  // Of the further view number `further`, from 0, in `pixels` of a slot.
  MutableBytes row(MutableBytes pixels, std::size_t further, std::size_t row) const {
    const Block& block = blocks_[further];
    return pixels.subspan(block.offset + row * block.image_bytes, block.image_bytes);
  }
  Bytes rows(Bytes pixels, std::size_t further, std::size_t num_rows) const {
    const Block& block = blocks_[further];
    return pixels.subspan(block.offset, num_rows * block.image_bytes);
  }

 private:
  struct Block {
    std::uint64_t offset = 0;
    std::uint64_t image_bytes = 0;
  };
  std::vector<Block> blocks_;
  std::uint64_t total_bytes_;
};

}  // namespace bale::loader_detail
