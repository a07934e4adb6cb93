#include "bale/formats/image/jpeg/planes/planes_field.hpp"

#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "bale/formats/image/image.hpp"
#include "bale/formats/image/jpeg/header/jpeg_markers.hpp"
#include "bale/formats/image/jpeg/planes/jpeg_planes.hpp"

namespace bale {
namespace {

std::string_view why_not_planes(Bytes bytes) {
  if (probe_image(bytes).kind != ImageKind::jpeg) return "not JPEG";
  const JpegCoding coding = read_jpeg_coding(bytes);
  if (coding.is_arithmetic) return "arithmetic";
  if (coding.is_progressive) return "progressive in an unusual way";
  if (coding.components > 3) return "of 4 components";
  return "written unusually";
}

/// What a thread restored last.
struct Restored {
  std::vector<std::byte> stored;
  std::vector<std::byte> original;
};

Restored& last_restored() {
  thread_local Restored restored;
  return restored;
}

/// Whether the thread restored these bytes last, from planes.
bool was_restored(Bytes jpeg) {
  const Restored& last = last_restored();
  if (last.stored.empty() || jpeg.size() != last.original.size()) return false;
  if (std::memcmp(jpeg.data(), last.original.data(), jpeg.size()) != 0) return false;
  thread_local image_detail::PlanesHeader header;
  header.open(last.stored, true);
  return !header.is_verbatim();
}

}  // namespace

Bytes restore_planes(Bytes stored) {
  constexpr std::size_t k_keep_bytes = std::size_t{8} << 20;
  thread_local image_detail::PlanesRestorer restorer;
  Restored& last = last_restored();
  if (last.original.capacity() > k_keep_bytes) last = {};
  last.stored.clear();
  restorer.restore(stored, last.original);
  last.stored.assign(stored.begin(), stored.end());
  return last.original;
}

std::uint32_t check_planes(Bytes stored) {
  thread_local image_detail::PlanesHeader header;
  header.open(stored);
  header.check_rows();
  return header.original_crc32c();
}

std::string_view make_planes(Bytes jpeg, std::vector<std::byte>& stored) {
  thread_local image_detail::PlanesPacker packer;
  const auto planes = was_restored(jpeg) ? std::optional<Bytes>(last_restored().stored)
                                         : packer.pack(jpeg, std::numeric_limits<std::size_t>::max());
  const bool is_large = planes && planes->size() > jpeg.size() + jpeg.size() / 4;
  const Bytes bytes = planes && !is_large ? *planes : packer.pack_verbatim(jpeg);
  stored.assign(bytes.begin(), bytes.end());
  if (is_large) return "larger as planes";
  return planes ? std::string_view() : why_not_planes(jpeg);
}

}  // namespace bale
