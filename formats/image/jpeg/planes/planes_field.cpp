#include "bale/formats/image/jpeg/planes/planes_field.hpp"

#include <limits>
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
  if (coding.is_progressive) return "progressive";
  if (coding.components > 3) return "of 4 components";
  return "written unusually";
}

}  // namespace

Bytes restore_planes(Bytes stored) {
  constexpr std::size_t k_keep_bytes = std::size_t{8} << 20;
  thread_local image_detail::PlanesRestorer restorer;
  thread_local std::vector<std::byte> original;
  if (original.capacity() > k_keep_bytes) original = {};
  restorer.restore(stored, original);
  return original;
}

std::uint32_t check_planes(Bytes stored) {
  thread_local image_detail::PlanesHeader header;
  header.open(stored);
  header.check_rows();
  return header.original_crc32c();
}

std::string_view make_planes(Bytes jpeg, std::vector<std::byte>& stored) {
  thread_local image_detail::PlanesPacker packer;
  const auto planes = packer.pack(jpeg, std::numeric_limits<std::size_t>::max());
  const bool is_large = planes && planes->size() > jpeg.size() + jpeg.size() / 4;
  const Bytes bytes = planes && !is_large ? *planes : packer.pack_verbatim(jpeg);
  stored.assign(bytes.begin(), bytes.end());
  if (is_large) return "larger as planes";
  return planes ? std::string_view() : why_not_planes(jpeg);
}

}  // namespace bale
