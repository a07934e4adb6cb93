// ViewPlaces: where the images of each view are in a slot of the ring. The first view has the start of the slot. A
// further view has a block of its own behind it, with one place per row, so that each view is one array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/loader/transform/transform.hpp"

namespace bale::loader_detail {

class ViewPlaces {
 public:
  /// Preconditions: if there are further views, all have a fixed shape. `first_bytes` is the size of the first view's
  /// block.
  ViewPlaces(std::uint64_t first_bytes, std::span<const Transform> further, std::uint64_t batch_size)
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
