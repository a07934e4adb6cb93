// JPEGs as planes: the original comes back to the byte, its pixels are those of the original, and bytes that were not
// packed so are refused.
#include <algorithm>
#include <string>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/image/jpeg/planes/jpeg_planes.hpp"
#include "bale/formats/image/jpeg/planes/planes_pixels.hpp"
#include "bale/formats/image/simd/simd_target.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/tier.hpp"
#include "image_baseline_support.hpp"

namespace {

using namespace bale::image_detail;
using namespace bale::test;
using bale::limit_simd;
using bale::simd_targets;

constexpr std::size_t k_any_size = ~std::size_t{0};

Buffer packed(const Buffer& jpeg) {
  PlanesPacker packer;
  const auto planes = packer.pack(jpeg, k_any_size);
  return planes ? Buffer(planes->begin(), planes->end()) : Buffer();
}

Buffer restored(const Buffer& planes) {
  PlanesRestorer restorer;
  Buffer jpeg;
  restorer.restore(planes, jpeg);
  return jpeg;
}

/// One image after another in the same memory.
class PlanesDecoder {
 public:
  Decoded decode(const Buffer& planes, const bale::Region& region) {
    Decoded result;
    header_.open(planes);
    JpegDecoder header;
    header.open(header_.head());
    result.pixels.resize(std::size_t{region.width} * region.height * 3);
    const bool decodes = pixels_.open(header_, header.info()) && pixels_.decode(region, result.pixels.data());
    if (!decodes) result.error = "refused";
    return result;
  }

 private:
  PlanesHeader header_;
  PlanesPixels pixels_;
};

}  // namespace

TEST_CASE("planes: every baseline JPEG comes back to the byte, on every CPU") {
  std::mt19937 random(1);
  PlanesPacker packer;
  PlanesRestorer restorer;
  Buffer jpeg;
  for (int i = 0; i < by_tier(150, 5000); ++i) {
    const Buffer original = make_jpeg(draw_baseline_sample(random, 90), random);
    Buffer first;
    for (const std::string& target : simd_targets()) {
      INFO(target);
      limit_simd(target);
      const auto planes = packer.pack(original, k_any_size);
      REQUIRE(planes);
      if (first.empty()) first.assign(planes->begin(), planes->end());
      CHECK(std::ranges::equal(*planes, first));
      restorer.restore(first, jpeg);
      CHECK(jpeg == original);
    }
    limit_simd("");
  }
}

TEST_CASE("planes: regions have the pixels of the original") {
  std::mt19937 random(2);
  bale::ImageDecoder theirs;
  PlanesDecoder ours;
  for (int i = 0; i < by_tier(60, 2000); ++i) {
    const JpegSample sample = draw_baseline_sample(random, 120);
    const Buffer jpeg = make_jpeg(sample, random);
    const Buffer planes = packed(jpeg);
    for (const std::string& target : simd_targets()) {
      INFO(target);
      limit_simd(target);
      const bale::Region region = draw_region(random, sample.width, sample.height);
      const Decoded expected = decode_region(theirs, BaselineUse::automatic, jpeg, region);
      CHECK(ours.decode(planes, region) == expected);
    }
    limit_simd("");
  }
}

TEST_CASE("planes: any bytes come back that are stored as they are") {
  std::mt19937 random(5);
  PlanesPacker packer;
  for (const std::size_t size : {0, 1, 1000}) {
    Buffer bytes(size);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xFF);
    const bale::Bytes stored = packer.pack_verbatim(bytes);
    CHECK(stored.size() < size + 20);
    CHECK(restored(Buffer(stored.begin(), stored.end())) == bytes);
  }
}

TEST_CASE("planes: what would not come back stays as it is") {
  std::mt19937 random(3);
  JpegSample sample{.width = 40, .height = 30};
  const Buffer jpeg = make_jpeg(sample, random);
  REQUIRE_FALSE(packed(jpeg).empty());
  Buffer changed = jpeg;
  changed.push_back(std::byte{0});
  CHECK(packed(changed).empty());  // a trailing byte
  CHECK(packed(first_bytes(jpeg, jpeg.size() - 3)).empty());
  CHECK(packed({}).empty());
  sample.scans = JpegSample::Scans::progressive;
  CHECK(packed(make_jpeg(sample, random)).empty());
  sample.scans = JpegSample::Scans::separate;
  CHECK(packed(make_jpeg(sample, random)).empty());
  sample.scans = JpegSample::Scans::one;
  sample.transformed = false;
  CHECK(packed(make_jpeg(sample, random)).empty());
  PlanesPacker packer;
  CHECK_FALSE(packer.pack(jpeg, jpeg.size() / 2));
}

TEST_CASE("planes: every flipped bit and every cut is noticed, or changes nothing") {
  std::mt19937 random(4);
  for (int i = 0; i < by_tier(3, 40); ++i) {
    const Buffer jpeg = make_jpeg(draw_baseline_sample(random, 40), random);
    const Buffer planes = packed(jpeg);
    std::size_t changed = 0;
    const auto is_noticed = [&](const Buffer& damaged) {
      Buffer result;
      if (!decodes([&] { result = restored(damaged); })) return true;
      return result == jpeg;
    };
    for (std::size_t bit = 0; bit < planes.size() * 8; ++bit) {
      Buffer damaged = planes;
      damaged[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
      if (!is_noticed(damaged)) ++changed;
    }
    for (std::size_t size = 0; size < planes.size(); ++size) {
      if (!is_noticed(first_bytes(planes, size))) ++changed;
    }
    CHECK(changed == 0);
  }
}
