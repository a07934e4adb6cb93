#include "bale/formats/image/jpeg/planes/planes_field.hpp"

#include <vector>

#include "bale/formats/image/jpeg/planes/jpeg_planes.hpp"

namespace bale {

Bytes restore_planes(Bytes stored) {
  constexpr std::size_t k_keep_bytes = std::size_t{8} << 20;
  thread_local image_detail::PlanesRestorer restorer;
  thread_local std::vector<std::byte> original;
  if (original.capacity() > k_keep_bytes) original = {};
  restorer.restore(stored, original);
  return original;
}

bool make_planes(Bytes jpeg, std::vector<std::byte>& stored) {
  thread_local image_detail::PlanesPacker packer;
  const auto planes = packer.pack(jpeg, jpeg.size() + jpeg.size() / 4);
  const Bytes bytes = planes ? *planes : packer.pack_verbatim(jpeg);
  stored.assign(bytes.begin(), bytes.end());
  return planes.has_value();
}

}  // namespace bale
