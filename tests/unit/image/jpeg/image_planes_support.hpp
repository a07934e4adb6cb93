// What the tests of JPEG planes share.
#pragma once

#include <array>
#include <string>

#include "bale/formats/image/jpeg/planes/jpeg_planes.hpp"
#include "bale/formats/image/jpeg/planes/planes_pixels.hpp"
#include "bale/formats/image/simd/cpu_bits.hpp"
#include "bale/formats/image/simd/simd_target.hpp"
#include "bale/tests/support/planes_checksums.hpp"
#include "image_baseline_support.hpp"

namespace bale::test {

/// Of a kind that becomes planes: baseline, or progressive in any scans.
inline JpegSample draw_planes_sample(std::mt19937& random, std::uint32_t max_side) {
  using Scans = JpegSample::Scans;
  JpegSample sample = draw_baseline_sample(random, max_side);
  sample.scans = std::array{Scans::one, Scans::one, Scans::progressive, Scans::drawn}[random() % 4];
  if (random() % 4 == 0) sample.restart_rows = 1;
  return sample;
}

inline constexpr std::size_t k_any_size = ~std::size_t{0};

inline Buffer packed(const Buffer& jpeg) {
  image_detail::PlanesPacker packer;
  const auto planes = packer.pack(jpeg, k_any_size);
  return planes ? Buffer(planes->begin(), planes->end()) : Buffer();
}

inline Buffer restored(const Buffer& planes) {
  image_detail::PlanesRestorer restorer;
  Buffer jpeg;
  restorer.restore(planes, jpeg);
  return jpeg;
}

/// The JPEG with every byte of its scan that codes do not fill filled with zeros.
inline Buffer filled_with_zeros(const Buffer& jpeg) {
  Buffer planes = packed(jpeg);
  constexpr std::size_t k_original_at = 10;
  image_detail::NumberReader reader(Bytes(planes).subspan(k_original_at));
  reader.number();  // bytes of the original
  const auto after_number = planes.end() - static_cast<std::ptrdiff_t>(reader.rest().size());
  if (planes[4] == std::byte{3}) {  // progressive
    *after_number = std::byte{1};
  } else {
    const std::array<std::byte, 6> ending{std::byte{1}};
    planes.insert(after_number, ending.begin(), ending.end());
    planes[4] = std::byte{2};
    planes[5] = ~planes[4];
  }
  fix_checksums(planes);
  image_detail::PlanesRestorer restorer;
  Buffer filled;
  decodes([&] { restorer.restore(planes, filled); });  // it is not the original
  return filled;
}

/// Calls `use` for each way in which CPUs decode.
template <typename Use>
void for_each_cpu(const Use& use) {
  for (const std::string& target : simd_targets()) {
    for (const bool has_slow_deposits : {false, true}) {
      INFO(target << (has_slow_deposits ? ", slow deposits" : ""));
      limit_simd(target);
      image_detail::assume_slow_deposits(has_slow_deposits);
      use();
    }
  }
  image_detail::assume_slow_deposits(false);
  limit_simd("");
}

/// One image after another in the same memory.
class PlanesDecoder {
 public:
  Decoded decode(const Buffer& planes, const Region& region) {
    Decoded result;
    header_.open(planes);
    image_detail::JpegDecoder header;
    header.open(header_.head());
    result.pixels.resize(std::size_t{region.width} * region.height * 3);
    const bool decodes = pixels_.open(header_, header.info()) && pixels_.decode(region, result.pixels.data());
    if (!decodes) result.error = "refused";
    return result;
  }

 private:
  image_detail::PlanesHeader header_;
  image_detail::PlanesPixels pixels_;
};

}  // namespace bale::test
