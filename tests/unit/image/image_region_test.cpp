#include <algorithm>
#include <array>

#include "bale/formats/image/codec/reused_memory.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/image/image_decoder.hpp"
#include "bale/tests/support/catch.hpp"
#include "image_samples.hpp"

namespace {

using bale::Region;
using bale::test::code_of;
using bale::test::first_bytes;
using bale::test::JpegSample;
using bale::test::make_jpeg;
using bale::test::make_png;
using bale::test::PngSample;
using bale::test::Sampling;
using Buffer = std::vector<std::byte>;
using Scans = JpegSample::Scans;

bool is_part(const bale::PixelView& view, const Region& region, const bale::Image& whole) {
  if (view.width != region.width || view.height != region.height) return false;
  for (std::size_t y = 0; y < region.height; ++y) {
    const std::uint8_t* const expected = whole.rgb.data() + ((region.y + y) * whole.width + region.x) * 3;
    if (!std::equal(expected, expected + region.width * 3, view.rgb + y * view.stride)) return false;
  }
  return true;
}

/// Regions that differ from the same part of the whole decode.
class Comparison {
 public:
  explicit Comparison(const Buffer& bytes) : bytes_(bytes), whole_(bale::decode_image(bytes)) {}

  void check(bale::ImageDecoder& decoder, const Region& region) {
    decoder.open(bytes_);
    if (!is_part(decoder.read(region), region, whole_)) ++differences_;
  }

  void check_all(bale::ImageDecoder& decoder) {
    for (std::uint32_t y = 0; y < whole_.height; ++y) {
      for (std::uint32_t x = 0; x < whole_.width; ++x) {
        for (std::uint32_t height = 1; y + height <= whole_.height; ++height) {
          for (std::uint32_t width = 1; x + width <= whole_.width; ++width) check(decoder, {x, y, width, height});
        }
      }
    }
  }

  /// Every column range at rows drawn at random, and every row range at columns drawn at random.
  void check_ranges(bale::ImageDecoder& decoder, std::mt19937& random) {
    for (std::uint32_t x = 0; x < whole_.width; ++x) {
      for (std::uint32_t width = 1; x + width <= whole_.width; ++width) {
        const Region rows = draw(random);
        check(decoder, {x, rows.y, width, rows.height});
      }
    }
    for (std::uint32_t y = 0; y < whole_.height; ++y) {
      for (std::uint32_t height = 1; y + height <= whole_.height; ++height) {
        const Region columns = draw(random);
        check(decoder, {columns.x, y, columns.width, height});
      }
    }
  }

  void check_random(bale::ImageDecoder& decoder, std::mt19937& random, int count) {
    for (int i = 0; i < count; ++i) check(decoder, draw(random));
    check(decoder, {0, 0, whole_.width, whole_.height});
  }

  int differences() const { return differences_; }

 private:
  Region draw(std::mt19937& random) const {
    const std::uint32_t width = 1 + random() % whole_.width;
    const std::uint32_t height = 1 + random() % whole_.height;
    return {static_cast<std::uint32_t>(random() % (whole_.width - width + 1)),
            static_cast<std::uint32_t>(random() % (whole_.height - height + 1)), width, height};
  }

  const Buffer& bytes_;
  bale::Image whole_;
  int differences_ = 0;
};

const std::vector<std::vector<Sampling>> k_samplings = {
    {{1, 1}},                          // gray
    {{2, 2}},                          // gray, as some encoders write it
    {{1, 1}, {1, 1}, {1, 1}},          // 4:4:4
    {{2, 1}, {1, 1}, {1, 1}},          // 4:2:2
    {{1, 2}, {1, 1}, {1, 1}},          // 4:4:0
    {{2, 2}, {1, 1}, {1, 1}},          // 4:2:0
    {{4, 1}, {1, 1}, {1, 1}},          // 4:1:1
    {{4, 2}, {1, 1}, {1, 1}},          // 4:1:0
    {{1, 4}, {1, 1}, {1, 1}},          //
    {{3, 1}, {1, 1}, {1, 1}},          //
    {{2, 2}, {2, 1}, {1, 2}},          // each chroma its own
    {{2, 2}, {1, 2}, {1, 1}},          //
    {{4, 1}, {2, 1}, {1, 1}},          //
    {{1, 1}, {2, 2}, {2, 1}},          // chroma finer than luma
    {{1, 1}, {1, 1}, {1, 1}, {1, 1}},  // CMYK, YCCK
    {{2, 2}, {1, 1}, {1, 1}, {2, 2}},  //
    {{2, 1}, {1, 1}, {1, 1}, {2, 1}},  //
};

JpegSample draw_sample(std::mt19937& random, std::uint32_t max_side) {
  JpegSample sample;
  sample.width = 1 + random() % max_side;
  sample.height = 1 + random() % max_side;
  sample.sampling = k_samplings[random() % k_samplings.size()];
  sample.transformed = random() % 4 != 0;
  sample.quality = 20 + static_cast<int>(random() % 80);
  sample.restart_interval = random() % 3 == 0 ? 1 + static_cast<int>(random() % 9) : 0;
  sample.arithmetic = random() % 6 == 0;
  sample.scans = std::array{Scans::one, Scans::one, Scans::separate, Scans::progressive}[random() % 4];
  return sample;
}

bool reads(bale::ImageDecoder& decoder, const Buffer& bytes, const Region& region,
           bale::WholeCheck check = bale::WholeCheck::end) {
  return bale::test::decodes([&] {
    decoder.open(bytes, 1 << 20, check);
    decoder.read(region);
  });
}

}  // namespace

TEST_CASE("Every region of a small JPEG is that part of the whole") {
  std::mt19937 random(1);
  bale::ImageDecoder decoder;
  for (const std::vector<Sampling>& sampling : k_samplings) {
    for (const auto& [width, height] : {std::pair{1u, 1u}, {1u, 20u}, {20u, 1u}, {5u, 3u}, {13u, 9u}, {9u, 17u}}) {
      const Buffer jpeg = make_jpeg({.width = width, .height = height, .sampling = sampling}, random);
      Comparison comparison(jpeg);
      comparison.check_all(decoder);
      CAPTURE(width, height, sampling.size(), sampling[0].horizontal, sampling[0].vertical);
      CHECK(comparison.differences() == 0);
    }
  }
}

TEST_CASE("Every edge of a region of a larger JPEG is that of the whole") {
  std::mt19937 random(2);
  bale::ImageDecoder decoder;
  for (const std::vector<Sampling>& sampling : k_samplings) {
    for (const Scans scans : {Scans::one, Scans::progressive}) {
      const std::uint32_t width = 36 + random() % 10;
      const std::uint32_t height = 36 + random() % 10;
      const Buffer jpeg = make_jpeg({.width = width, .height = height, .sampling = sampling, .scans = scans}, random);
      Comparison comparison(jpeg);
      comparison.check_ranges(decoder, random);
      CAPTURE(width, height, sampling.size(), sampling[0].horizontal, sampling[0].vertical);
      CHECK(comparison.differences() == 0);
    }
  }
}

TEST_CASE("Random regions of random JPEGs are that part of the whole") {
  std::mt19937 random(3);
  bale::ImageDecoder decoder;
  for (int round = 0; round < 400; ++round) {
    const JpegSample sample = draw_sample(random, round % 8 == 0 ? 300 : 90);
    const Buffer jpeg = make_jpeg(sample, random);
    Comparison comparison(jpeg);
    comparison.check_random(decoder, random, 20);
    CAPTURE(round, sample.width, sample.height, sample.sampling.size(), sample.restart_interval, sample.arithmetic);
    CHECK(comparison.differences() == 0);
  }
}

TEST_CASE("Regions of a progressive JPEG that lacks refinements") {
  // libjpeg estimates what is not there from the blocks around.
  std::mt19937 random(4);
  bale::ImageDecoder decoder;
  for (int round = 0; round < 40; ++round) {
    JpegSample sample = draw_sample(random, 120);
    sample.scans = Scans::unrefined;
    const Buffer jpeg = make_jpeg(sample, random);
    Comparison comparison(jpeg);
    comparison.check_random(decoder, random, 20);
    CHECK(comparison.differences() == 0);
  }
}

TEST_CASE("Regions of PNGs of every kind are that part of the whole") {
  std::mt19937 random(5);
  bale::ImageDecoder decoder;
  for (const auto& [color_type, bit_depths] : std::vector<std::pair<int, std::vector<int>>>{
           {0, {1, 2, 4, 8, 16}}, {2, {8, 16}}, {3, {1, 2, 4, 8}}, {4, {8, 16}}, {6, {8, 16}}}) {
    for (const int bit_depth : bit_depths) {
      for (const bool interlaced : {false, true}) {
        PngSample sample{.width = 11, .height = 7, .bit_depth = bit_depth, .color_type = color_type};
        sample.interlaced = interlaced;
        const Buffer small = make_png(sample, random);
        Comparison exhaustive(small);
        exhaustive.check_all(decoder);
        sample.width = 61;
        sample.height = 83;
        const Buffer large = make_png(sample, random);
        Comparison comparison(large);
        comparison.check_random(decoder, random, 50);
        CAPTURE(color_type, bit_depth, interlaced);
        CHECK(exhaustive.differences() + comparison.differences() == 0);
      }
    }
  }
}

TEST_CASE("A decoder stays good after damaged images") {
  std::mt19937 random(6);
  bale::ImageDecoder decoder;
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    const JpegSample sample = draw_sample(random, 60);
    const Buffer jpeg = make_jpeg(sample, random);
    const Buffer png = make_png({.width = sample.width, .height = sample.height}, random);
    for (Buffer damaged : {jpeg, png}) {
      if (round % 2 == 0) damaged.resize(random() % damaged.size());
      const std::uint32_t flips = random() % 4;
      if (!damaged.empty()) bale::test::flip_bits(damaged, flips, random);
      if (!reads(decoder, damaged, {0, 0, 1, 1})) ++refused;
      // What warnings leave in the pixels is the same too.
      if (bale::test::thrown_by([&] {
            const bale::Image whole = bale::decode_image(damaged, 1 << 20);
            const Region region{whole.width / 3, whole.height / 2, whole.width - whole.width / 3, 1};
            decoder.open(damaged, 1 << 20, bale::WholeCheck::none);
            CHECK(is_part(decoder.read(region), region, whole));
          })) {
        ++refused;
      }
    }
    Comparison comparison(jpeg);
    comparison.check_random(decoder, random, 3);
    CHECK(comparison.differences() == 0);
  }
  CHECK(refused > 100);
}

TEST_CASE("Tables of one JPEG are not lent to the next") {
  std::mt19937 random(7);
  bale::ImageDecoder decoder;
  const Buffer whole = make_jpeg({.width = 40, .height = 40}, random);
  // Without its first quantization table.
  Buffer lacking = whole;
  const std::array marker{std::byte{0xFF}, std::byte{0xDB}};
  const auto table = std::search(lacking.begin(), lacking.end(), marker.begin(), marker.end());
  REQUIRE(table != lacking.end());
  lacking.erase(table, table + 2 + 67);
  CHECK(reads(decoder, whole, {0, 0, 40, 40}));
  CHECK_FALSE(reads(decoder, lacking, {0, 0, 40, 40}));
}

TEST_CASE("What is cut off below a region does not matter to it if nobody asks for a whole image") {
  std::mt19937 random(8);
  constexpr auto k_none = bale::WholeCheck::none;
  bale::ImageDecoder decoder;
  for (const Scans scans : {Scans::one, Scans::progressive}) {
    const Buffer jpeg = make_jpeg({.width = 64, .height = 256, .scans = scans}, random);
    const Buffer cut = first_bytes(jpeg, jpeg.size() / 2);
    CHECK(reads(decoder, cut, {8, 8, 40, 40}, k_none) == (scans == Scans::one));
    CHECK_FALSE(reads(decoder, cut, {8, 200, 40, 40}, k_none));
    CHECK_FALSE(reads(decoder, cut, {0, 0, 64, 256}, k_none));
  }
  const Buffer png = make_png({.width = 64, .height = 256}, random);
  const Buffer cut = first_bytes(png, png.size() / 2);
  CHECK(reads(decoder, cut, {8, 8, 40, 40}, k_none));
  CHECK_FALSE(reads(decoder, cut, {8, 200, 40, 40}, k_none));
}

TEST_CASE("Whether an image that is cut off is refused does not depend on the part that is read") {
  std::mt19937 random(10);
  bale::ImageDecoder decoder;
  std::vector<std::pair<Buffer, Region>> wrong;
  std::size_t accepted = 0;
  std::size_t refused = 0;
  const auto compare = [&](const Buffer& bytes) {
    const bool whole = !bale::test::thrown_by([&] { bale::decode_image(bytes); });
    ++(whole ? accepted : refused);
    for (const Region& region : {Region{0, 0, 32, 1}, {5, 9, 11, 20}, {0, 0, 32, 96}}) {
      if (reads(decoder, bytes, region) != whole) wrong.push_back({bytes, region});
    }
  };
  std::vector<Buffer> images{make_png({.width = 32, .height = 96}, random)};
  for (const Scans scans : {Scans::one, Scans::separate, Scans::progressive}) {
    images.push_back(make_jpeg({.width = 32, .height = 96, .quality = 40, .scans = scans}, random));
  }
  for (const Buffer& image : images) {
    for (std::size_t size = image.size() / 8; size <= image.size(); size += 1 + (image.size() - size) / 30) {
      Buffer cut = first_bytes(image, size);
      compare(cut);
      cut.resize(size + 100);  // zeros, as of a download that was broken off
      compare(cut);
    }
  }
  CHECK(wrong.empty());
  CHECK(accepted > images.size());
  CHECK(refused > 50);
}

TEST_CASE("Headers, budgets and regions are checked") {
  std::mt19937 random(9);
  bale::ImageDecoder decoder;
  const Buffer jpeg = make_jpeg({.width = 30, .height = 20, .sampling = {{1, 1}}}, random);
  const Buffer png = make_png({.width = 30, .height = 20, .color_type = 6}, random);
  using bale::ErrorCode;
  CHECK(code_of([&] { decoder.read({0, 0, 1, 1}); }) == ErrorCode::invalid_argument);
  for (const auto& [bytes, channels] : {std::pair{jpeg, 1u}, {png, 4u}}) {
    const bale::ImageHeader header = decoder.open(bytes, 600);
    CHECK(header.kind == bale::probe_image(bytes).kind);
    CHECK(header.width == 30);
    CHECK(header.height == 20);
    CHECK(header.channels == channels);
    for (const Region& region : {Region{0, 0, 0, 1},
                                 {0, 0, 1, 0},
                                 {30, 0, 1, 1},
                                 {0, 20, 1, 1},
                                 {29, 0, 2, 1},
                                 {0, 19, 1, 2},
                                 {1, 1, 0xFFFFFFFF, 1},
                                 {1, 1, 1, 0xFFFFFFFF}}) {
      CHECK(code_of([&] { decoder.read(region); }) == ErrorCode::invalid_argument);
    }
    CHECK(decoder.read({0, 0, 30, 20}).rgb != nullptr);
    CHECK(code_of([&] { decoder.read({0, 0, 1, 1}); }) == ErrorCode::invalid_argument);
    CHECK(code_of([&, &large = bytes] { decoder.open(large, 599); }) == ErrorCode::unsupported);
    CHECK(code_of([&] { decoder.read({0, 0, 1, 1}); }) == ErrorCode::invalid_argument);
  }
  CHECK(code_of([&] { decoder.open({}); }) == ErrorCode::damaged);
  CHECK(code_of([&] { decoder.open(bale::as_bytes("no image")); }) == ErrorCode::unsupported);
  bale::ImageDecoder moved = std::move(decoder);
  moved.open(png);
  decoder = std::move(moved);
  CHECK(decoder.read({3, 4, 5, 6}).width == 5);
}

TEST_CASE("Memory of a large image is given back after a few small ones, but for what is kept") {
  constexpr std::size_t k_kept = std::size_t{1} << 20;
  constexpr std::size_t k_large = std::size_t{8} << 20;
  constexpr std::ptrdiff_t k_most_page = 64 << 10;
  bale::image_detail::ReusedMemory memory(k_kept);
  std::uint8_t* const bytes = memory.get(k_large);
  std::fill_n(bytes, k_large, std::uint8_t{1});
  memory.get(100);
  CHECK(bytes[k_large / 2] == 1);  // another large one may follow
  for (int i = 0; i < 20; ++i) memory.get(100);
  CHECK(std::count(bytes, bytes + k_kept, 1) == k_kept);
  CHECK(std::count(bytes + k_kept, bytes + k_large, 1) <= 2 * k_most_page);  // pages that the kernel took are zero
  CHECK(memory.get(k_large) == bytes);
}

TEST_CASE("Memory that shrinks after a large image is not replaced below the pixels of a small one") {
  std::mt19937 random(2);
  const Buffer large = make_png({.width = 1500, .height = 1000}, random);
  const Buffer png = make_png({.width = 16, .height = 16}, random);
  const Buffer jpeg = make_jpeg({.width = 60, .height = 40, .sampling = {{1, 1}}}, random);
  const auto pixels_of = [](bale::ImageDecoder& decoder, const Buffer& bytes) {
    const bale::ImageHeader header = decoder.open(bytes);
    const bale::PixelView view = decoder.read({0, 0, header.width, header.height});
    std::vector<std::uint8_t> pixels;
    for (std::uint32_t y = 0; y < view.height; ++y) {
      const std::uint8_t* const row = view.rgb + y * view.stride;
      pixels.insert(pixels.end(), row, row + std::size_t{view.width} * 3);
    }
    return pixels;
  };
  bale::ImageDecoder fresh;
  const std::vector<std::uint8_t> expected = pixels_of(fresh, jpeg);
  for (int num_png = 0; num_png < 3; ++num_png) {
    bale::ImageDecoder decoder;
    pixels_of(decoder, large);
    for (int i = 0; i < num_png; ++i) pixels_of(decoder, png);
    for (int i = 0; i < 20; ++i) CHECK(pixels_of(decoder, jpeg) == expected);
  }
}
