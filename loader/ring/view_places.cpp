#include "bale/loader/ring/view_places.hpp"

namespace bale::loader_detail {

ViewPlaces::ViewPlaces(std::uint64_t first_bytes, std::span<const Transform> further, std::uint64_t batch_size)
    : total_bytes_(first_bytes) {
  constexpr std::uint64_t k_alignment_bytes = 64;
  for (const Transform& view : further) {
    const std::uint64_t offset = (total_bytes_ + k_alignment_bytes - 1) / k_alignment_bytes * k_alignment_bytes;
    blocks_.push_back({.offset = offset, .image_bytes = view.image_bytes()});
    total_bytes_ = offset + view.image_bytes() * batch_size;
  }
}

}  // namespace bale::loader_detail
