// JPEGs as planes: the original comes back to the byte, and its pixels are those of the original.
#include <algorithm>
#include <string>

#include "bale/formats/base/file.hpp"
#include "bale/formats/image/jpeg/planes/planes_field.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/tier.hpp"
#include "coefficient_jpegs.hpp"
#include "image_baseline_support.hpp"
#include "image_planes_support.hpp"

namespace {

using namespace bale::image_detail;
using namespace bale::test;

}  // namespace

TEST_CASE("planes: every baseline and progressive JPEG comes back to the byte, on every CPU") {
  std::mt19937 random(1);
  PlanesPacker packer;
  PlanesRestorer restorer;
  Buffer jpeg;
  for (int i = 0; i < by_tier(150, 5000); ++i) {
    const Buffer original = make_jpeg(draw_planes_sample(random, 90), random);
    Buffer first;
    for_each_cpu([&] {
      const auto planes = packer.pack(original, k_any_size);
      REQUIRE(planes);
      if (first.empty()) first.assign(planes->begin(), planes->end());
      CHECK(std::ranges::equal(*planes, first));
      restorer.restore(first, jpeg);
      CHECK(jpeg == original);
    });
  }
}

TEST_CASE("planes: regions have the pixels of the original") {
  std::mt19937 random(2);
  bale::ImageDecoder theirs;
  PlanesDecoder ours;
  for (int i = 0; i < by_tier(60, 2000); ++i) {
    const JpegSample sample = draw_planes_sample(random, 120);
    const Buffer jpeg = make_jpeg(sample, random);
    const Buffer planes = packed(jpeg);
    for_each_cpu([&] {
      const bale::Region region = draw_region(random, sample.width, sample.height);
      const Decoded expected = decode_region(theirs, BaselineUse::automatic, jpeg, region);
      CHECK(ours.decode(planes, region) == expected);
    });
  }
}

TEST_CASE("planes: coefficients of every size and number come back, on every CPU") {
  std::mt19937 random(11);
  PlanesPacker packer;
  PlanesRestorer restorer;
  for (int i = 0; i < by_tier(60, 3000); ++i) {
    CoefficientJpeg sample{.blocks = std::vector<CoefficientBlock>(6)};
    for (CoefficientBlock& block : sample.blocks) {
      const int most = 1 << random() % 11;
      const std::size_t end = 1 + random() % 64;
      for (std::size_t k = 1; k < end; ++k)
        block[k] = static_cast<std::int16_t>(static_cast<int>(random() % (2 * most)) - most);
      for (std::size_t k = 1; k < end; ++k) block[k] = std::max<std::int16_t>(block[k], -1023);
      if (random() % 3 == 0)
        std::replace(block.begin() + 1, block.begin() + static_cast<std::ptrdiff_t>(end), std::int16_t{0},
                     std::int16_t{1});
    }
    const Buffer original = jpeg_of_coefficients(sample);
    const Buffer planes = packed(original);
    REQUIRE_FALSE(planes.empty());
    for_each_cpu([&] {
      Buffer jpeg;
      restorer.restore(planes, jpeg);
      CHECK(jpeg == original);
    });
  }
}

TEST_CASE("planes: runs of blocks of a progressive JPEG end where libjpeg ends them") {
  CoefficientJpeg empty{.blocks = std::vector<CoefficientBlock>(33000), .progressive = true, .across = 100};
  CoefficientJpeg corrected{.blocks = std::vector<CoefficientBlock>(60), .progressive = true};
  std::mt19937 random(16);
  for (CoefficientBlock& block : corrected.blocks) {
    // Known after the first scan, so that there are only corrections; of some blocks one fewer.
    for (std::size_t k = 1 + random() % 2; k < 64; ++k) block[k] = static_cast<std::int16_t>(8 + random() % 8);
  }
  CoefficientJpeg zeros{.blocks = std::vector<CoefficientBlock>(6), .progressive = true};
  for (CoefficientBlock& block : zeros.blocks) {
    for (std::size_t k = 1 + random() % 5; k < 64; k += 1 + random() % 40)
      block[k] = static_cast<std::int16_t>(random() % 16);
  }
  for (const CoefficientJpeg& sample : {empty, corrected, zeros}) {
    const Buffer jpeg = jpeg_of_coefficients(sample);
    const Buffer planes = packed(jpeg);
    REQUIRE_FALSE(planes.empty());
    CHECK(restored(planes) == jpeg);
  }
}

TEST_CASE("planes: bytes after the end and bytes filled with zeros come back, and change no pixel") {
  std::mt19937 random(13);
  bale::ImageDecoder theirs;
  PlanesDecoder ours;
  std::size_t filled = 0;
  for (int i = 0; i < by_tier(60, 2000); ++i) {
    const JpegSample sample = draw_planes_sample(random, 60);
    const Buffer usual = make_jpeg(sample, random);
    const bool has_tail = i % 3 != 0;
    Buffer jpeg = i % 3 == 1 ? usual : filled_with_zeros(usual);
    if (jpeg != usual) ++filled;
    if (has_tail) {
      const Buffer tail = i % 2 == 0 ? usual : Buffer(1 + random() % 300, static_cast<std::byte>(random() & 0xFF));
      jpeg.insert(jpeg.end(), tail.begin(), tail.end());
    }
    const Buffer planes = packed(jpeg);
    REQUIRE_FALSE(planes.empty());
    const bool is_progressive = sample.scans != JpegSample::Scans::one;
    CHECK(planes.at(4) == static_cast<std::byte>(is_progressive ? 3 : jpeg == usual ? 1 : 2));
    CHECK(restored(planes) == jpeg);
    bale::check_planes(planes);
    const bale::Region region = draw_region(random, sample.width, sample.height);
    CHECK(ours.decode(planes, region) == decode_region(theirs, BaselineUse::never, jpeg, region));
  }
  CHECK(filled > 30);
}

TEST_CASE("planes: later versions are named, and unknown endings refused") {
  std::mt19937 random(14);
  Buffer jpeg = make_jpeg({.width = 20, .height = 20}, random);
  jpeg.push_back(std::byte{0});
  Buffer planes = packed(jpeg);
  planes[4] = std::byte{4};
  planes[5] = ~planes[4];
  fix_checksums(planes);
  CHECK(message_of([&] { restored(planes); }).find("version 4; this bale reads up to version 3") != std::string::npos);
  planes = packed(jpeg);
  planes[12] = std::byte{2};  // after the original's bytes, which take two
  fix_checksums(planes);
  CHECK(message_of([&] { restored(planes); }).find("unknown way") != std::string::npos);
}

TEST_CASE("planes: any bytes come back that are stored as they are") {
  std::mt19937 random(5);
  PlanesPacker packer;
  for (const std::size_t size : {0, 1, 1000}) {
    Buffer bytes(size);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xFF);
    const bale::Bytes stored = packer.pack_verbatim(bytes);
    CHECK(stored.size() < size + 24);
    CHECK(restored(Buffer(stored.begin(), stored.end())) == bytes);
  }
}

TEST_CASE("planes: what would not come back stays as it is") {
  std::mt19937 random(3);
  JpegSample sample{.width = 40, .height = 30};
  const Buffer jpeg = make_jpeg(sample, random);
  REQUIRE_FALSE(packed(jpeg).empty());
  Buffer changed = jpeg;
  changed.insert(changed.end() - 2, std::byte{0xFF});
  CHECK(packed(changed).empty());  // a fill byte before the end
  CHECK(packed(first_bytes(jpeg, jpeg.size() - 3)).empty());
  CHECK(packed({}).empty());
  sample.scans = JpegSample::Scans::unrefined;
  CHECK(packed(make_jpeg(sample, random)).empty());
  sample.scans = JpegSample::Scans::separate;
  CHECK(packed(make_jpeg(sample, random)).empty());
  sample.scans = JpegSample::Scans::one;
  sample.transformed = false;
  CHECK(packed(make_jpeg(sample, random)).empty());
  PlanesPacker packer;
  CHECK_FALSE(packer.pack(jpeg, jpeg.size() / 2));
}

namespace {

/// Of every kind that stays as it is.
std::vector<Buffer> make_strange_jpegs(std::mt19937& random) {
  std::vector<Buffer> jpegs;
  for (JpegSample sample : {JpegSample{.sampling = {{4, 1}, {1, 1}, {1, 1}}},
                            {.sampling = {{1, 1}, {2, 2}, {2, 1}}},
                            {.sampling = {{1, 1}, {1, 1}, {1, 1}, {1, 1}}},
                            {.sampling = {{2, 2}, {1, 1}, {1, 1}, {2, 2}}, .transformed = false},
                            {.transformed = false},
                            {.arithmetic = true},
                            {.restart_interval = 3, .arithmetic = true},
                            {.scans = JpegSample::Scans::separate},
                            {.scans = JpegSample::Scans::unrefined}}) {
    sample.width = 43;
    sample.height = 29;
    jpegs.push_back(make_jpeg(sample, random));
  }
  const Buffer plain = make_jpeg({.width = 43, .height = 29, .restart_interval = 2}, random);
  jpegs.push_back(plain);
  jpegs.back().insert(jpegs.back().end() - 2, {std::byte{'x'}, std::byte{0xFF}});
  for (const std::size_t size :
       {plain.size() - 1, plain.size() - 2, plain.size() / 2, std::size_t{100}, std::size_t{2}}) {
    jpegs.push_back(first_bytes(plain, size));
  }
  // 12 bits a sample: what follows the marker's length.
  const std::array<std::byte, 5> k_frame{std::byte{0xFF}, std::byte{0xC0}, std::byte{0}, std::byte{17}, std::byte{8}};
  jpegs.push_back(plain);
  *(std::search(jpegs.back().begin(), jpegs.back().end(), k_frame.begin(), k_frame.end()) + 4) = std::byte{12};
  // Restarts that are not in their order.
  jpegs.push_back(plain);
  const std::array<std::byte, 2> k_restart{std::byte{0xFF}, std::byte{0xD1}};
  *(std::search(jpegs.back().begin(), jpegs.back().end(), k_restart.begin(), k_restart.end()) + 1) = std::byte{0xD5};
  return jpegs;
}

}  // namespace

TEST_CASE("planes: segments between the scans of a progressive JPEG come back") {
  std::mt19937 random(17);
  const JpegSample sample{.width = 40, .height = 30, .scans = JpegSample::Scans::progressive};
  const Buffer jpeg = make_jpeg(sample, random);
  const std::array<std::byte, 2> k_tables{std::byte{0xFF}, std::byte{0xC4}};
  const std::array<std::byte, 5> k_comment{std::byte{0xFF}, std::byte{0xFE}, std::byte{0}, std::byte{3},
                                           std::byte{'x'}};
  const auto last_tables = std::find_end(jpeg.begin(), jpeg.end(), k_tables.begin(), k_tables.end()) - jpeg.begin();
  const auto end = static_cast<std::ptrdiff_t>(jpeg.size()) - 2;
  Buffer commented = jpeg;
  commented.insert(commented.begin() + last_tables, k_comment.begin(), k_comment.end());
  Buffer before_end = jpeg;
  before_end.insert(before_end.begin() + end, k_comment.begin(), k_comment.end());
  for (const Buffer& changed : {commented, before_end}) {
    const Buffer planes = packed(changed);
    REQUIRE_FALSE(planes.empty());
    CHECK(restored(planes) == changed);
    CHECK(bale::decode_image(changed).rgb == bale::decode_image(jpeg).rgb);
    bale::ImageDecoder theirs;
    PlanesDecoder ours;
    const bale::Region region{.x = 3, .y = 5, .width = 30, .height = 20};
    CHECK(ours.decode(planes, region) == decode_region(theirs, BaselineUse::never, jpeg, region));
  }
  Buffer filled = jpeg;
  filled.insert(filled.begin() + last_tables, std::byte{0xFF});
  CHECK(packed(filled).empty());
}

TEST_CASE("planes: strange JPEGs come back to the byte, stored as they are") {
  std::mt19937 random(6);
  for (const Buffer& jpeg : make_strange_jpegs(random)) {
    CHECK(packed(jpeg).empty());
    PlanesPacker packer;
    const bale::Bytes stored = packer.pack_verbatim(jpeg);
    CHECK(restored(Buffer(stored.begin(), stored.end())) == jpeg);
  }
}

TEST_CASE("planes: JPEGs with bits that an encoder need not write come back, or stay as they are") {
  std::mt19937 random(7);
  std::size_t taken = 0;
  for (int i = 0; i < by_tier(300, 20000); ++i) {
    Buffer jpeg = make_jpeg(draw_planes_sample(random, 60), random);
    flip_bits(jpeg, 1 + static_cast<std::uint32_t>(random() % 3), random);
    const Buffer planes = packed(jpeg);
    if (planes.empty()) continue;
    ++taken;
    CHECK(restored(planes) == jpeg);
  }
  CHECK(taken > 50);
}

TEST_CASE("planes: what was restored last is stored as it was, and nothing else") {
  const Buffer jpeg = bale::read_file(BALE_TEST_GOLDEN_PLANES "/planes_1.jpg");
  const Buffer golden = bale::read_file(BALE_TEST_GOLDEN_PLANES "/planes_1.bjp");
  const auto stored = [](const Buffer& original) {
    Buffer planes;
    CHECK(bale::make_planes(original, planes).empty());
    return planes;
  };
  const Buffer ours = stored(jpeg);
  REQUIRE(ours != golden);  // its head is stored in another way
  bale::restore_planes(golden);
  CHECK(stored(jpeg) == golden);
  Buffer other = jpeg;  // as many bytes
  other.at(other.size() / 2) ^= std::byte{1};
  Buffer planes;
  bale::make_planes(other, planes);
  CHECK(restored(planes) == other);
  Buffer damaged = golden;
  damaged.at(damaged.size() / 2) ^= std::byte{1};
  CHECK_THROWS_AS(bale::restore_planes(damaged), bale::Error);
  CHECK(stored(jpeg) == ours);
  PlanesPacker packer;
  const bale::Bytes verbatim = packer.pack_verbatim(jpeg);
  bale::restore_planes(verbatim);
  CHECK(stored(jpeg) == ours);
}

TEST_CASE("planes: a field of each version of the format gives its JPEG") {
  const std::string folder = BALE_TEST_GOLDEN_PLANES;
  for (const std::string name : {"planes_1", "planes_2", "planes_3"}) {
    const Buffer jpeg = bale::read_file(folder + "/" + name + ".jpg");
    const Buffer stored = bale::read_file(folder + "/" + name + ".bjp");
    CHECK(restored(stored) == jpeg);
    bale::ImageDecoder theirs;
    PlanesDecoder ours;
    const bale::Region region{.x = 10, .y = 20, .width = 50, .height = 25};
    CHECK(ours.decode(stored, region) == decode_region(theirs, BaselineUse::never, jpeg, region));
  }
}
