#include "bale/formats/image/tiff/tiff_orientation.hpp"

#include "bale/formats/image/metadata/exif_directory.hpp"
#include "bale/formats/image/metadata/tiff_directory.hpp"
#include "bale/formats/image/metadata/xmp_orientation.hpp"

namespace bale::image_detail {
namespace {

constexpr std::uint32_t k_xmp_tag = 700;

}  // namespace

int tiff_orientation(Bytes tiff) {
  const ByteReader in(tiff);
  const bool big_endian = in.matches(0, "MM");
  if (!in.has(0, 4) || (big_endian ? in.be16(2) : in.le16(2)) != 42) return 1;
  if (const auto stated = read_exif_orientation(tiff)) return *stated;
  const TiffDirectory directory(in, big_endian);
  for (std::size_t i = 0; i < directory.entries(); ++i) {
    if (directory.tag(i) != k_xmp_tag) continue;
    const std::size_t length = directory.u32(directory.entry(i) + 4);
    const std::size_t at = directory.u32(directory.entry(i) + 8);
    if (in.has(at, length)) return read_xmp_orientation(as_text(tiff.subspan(at, length)));
  }
  return 1;
}

}  // namespace bale::image_detail
