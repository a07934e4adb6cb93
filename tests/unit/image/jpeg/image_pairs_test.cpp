// Two images that are decoded side by side: each is what it is alone, whatever the others.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/image/jpeg/seek_points.hpp"
#include "bale/tests/support/catch.hpp"
#include "image_baseline_support.hpp"

namespace {

using bale::ImageDecoder;
using bale::Region;
using bale::image_detail::BaselineUse;
using namespace bale::test;

struct PairImage {
  Buffer bytes;
  Buffer seek_points{};
  Region region{};
  Decoded expected{};  // by libjpeg, alone
};

void open(ImageDecoder& decoder, const PairImage& image) {
  decoder.open(image.bytes, bale::k_default_max_pixels, bale::WholeCheck::none);
  decoder.use_seek_points({.record = image.seek_points, .image_crc32c = bale::crc32c(image.bytes)});
}

/// Whether both come out as they are alone.
bool are_right(std::array<ImageDecoder, 2>& decoders, const PairImage& first, const PairImage& second) {
  open(decoders[0], first);
  open(decoders[1], second);
  ImageDecoder::decode_ahead({&decoders[0], first.region}, {&decoders[1], second.region});
  return read_region(decoders[0], first.region) == first.expected &&
         read_region(decoders[1], second.region) == second.expected;
}

/// Flips a bit behind the headers.
void damage(Buffer& bytes, std::mt19937& random) {
  const std::size_t at = bytes.size() / 2 + random() % (bytes.size() / 2);
  bytes[at] ^= static_cast<std::byte>(1u << random() % 8);
}

/// Baseline images with and without restarts, some damaged, some with seek points; progressive ones and PNGs. All can
/// be opened.
std::vector<PairImage> draw_images(std::mt19937& random, std::size_t count) {
  std::vector<PairImage> images;
  ImageDecoder alone;
  while (images.size() < count) {
    JpegSample sample = draw_baseline_sample(random, 200);
    const std::uint32_t kind = random() % 10;
    if (kind == 0) sample.scans = JpegSample::Scans::progressive;
    PairImage image{.bytes = make_jpeg(sample, random)};
    if (kind == 1) {
      image.bytes = bale::test::make_png({.width = sample.width, .height = sample.height}, random);
    } else if (kind < 4) {
      damage(image.bytes, random);
    } else if (kind == 4) {
      image.seek_points = bale::make_seek_points(image.bytes);
    }
    if (!message_of([&] { open(alone, image); }).empty()) continue;
    image.region = draw_region(random, sample.width, sample.height);
    image.expected = decode_region(alone, BaselineUse::never, image.bytes, image.region);
    images.push_back(std::move(image));
  }
  return images;
}

}  // namespace

TEST_CASE("Images that are decoded side by side are what they are alone") {
  std::mt19937 random(11);
  const std::vector<PairImage> images = draw_images(random, 120);
  std::array<ImageDecoder, 2> decoders;
  for (const BaselineUse use : {BaselineUse::automatic, BaselineUse::plain}) {
    bale::image_detail::set_baseline_use(use);
    const std::uint64_t before = bale::image_detail::baseline_count();
    int wrong = 0;
    for (int i = 0; i < 1500; ++i) {
      wrong += are_right(decoders, images[random() % images.size()], images[random() % images.size()]) ? 0 : 1;
    }
    CHECK(wrong == 0);
    CHECK(bale::image_detail::baseline_count() - before > 1500);
  }
  bale::image_detail::set_baseline_use(BaselineUse::automatic);
}

TEST_CASE("An image that takes longer continues next to the next one, and is what it is alone") {
  std::mt19937 random(14);
  const std::vector<PairImage> images = draw_images(random, 120);
  std::array<ImageDecoder, 2> decoders;
  std::array<const PairImage*, 2> held{};
  std::array<int, 2> num_partners{};
  int most_partners = 0;
  for (int i = 0; i < 2000; ++i) {
    for (std::size_t lane : {0, 1}) {
      if (held[lane] != nullptr) continue;
      held[lane] = &images[random() % images.size()];
      open(decoders[lane], *held[lane]);
      num_partners[lane] = 0;
    }
    const auto ready = ImageDecoder::decode_ahead({&decoders[0], held[0]->region}, {&decoders[1], held[1]->region});
    REQUIRE((ready[0] || ready[1]));
    for (std::size_t lane : {0, 1}) {
      most_partners = std::max(most_partners, ++num_partners[lane]);
      // Now and then one is read before it is ready.
      if (!ready[lane] && random() % 8 != 0) continue;
      REQUIRE(read_region(decoders[lane], held[lane]->region) == held[lane]->expected);
      held[lane] = nullptr;
    }
  }
  CHECK(most_partners > 2);
}

TEST_CASE("A large image is ready after a few small ones next to it") {
  std::mt19937 random(15);
  const PairImage large{.bytes = make_jpeg({.width = 200, .height = 200}, random), .region = {0, 0, 200, 200}};
  const PairImage small{.bytes = make_jpeg({.width = 32, .height = 32}, random), .region = {0, 0, 32, 32}};
  std::array<ImageDecoder, 2> decoders;
  open(decoders[0], large);
  int num_partners = 0;
  for (bool ready = false; !ready && num_partners < 1000; ++num_partners) {
    open(decoders[1], small);
    ready = ImageDecoder::decode_ahead({&decoders[0], large.region}, {&decoders[1], small.region})[0];
  }
  CHECK(num_partners > 2);
  CHECK(num_partners < 100);
}

TEST_CASE("What was decoded ahead is not taken for another region or another image") {
  std::mt19937 random(12);
  const std::vector<PairImage> images = draw_images(random, 40);
  std::array<ImageDecoder, 2> decoders;
  ImageDecoder alone;
  for (std::size_t i = 0; i + 2 < images.size(); ++i) {
    for (std::size_t n : {0, 1}) open(decoders[n], images[i + n]);
    ImageDecoder::decode_ahead({&decoders[0], images[i].region}, {&decoders[1], images[i + 1].region});
    const Region pixel{.x = 0, .y = 0, .width = 1, .height = 1};
    CHECK(read_region(decoders[0], pixel) == decode_region(alone, BaselineUse::never, images[i].bytes, pixel));
    open(decoders[1], images[i + 2]);
    CHECK(read_region(decoders[1], images[i + 2].region) == images[i + 2].expected);
  }
}

TEST_CASE("Regions outside of an image are refused by the read, not by decoding ahead") {
  std::mt19937 random(13);
  const Buffer jpeg = make_jpeg({.width = 20, .height = 10}, random);
  std::array<ImageDecoder, 2> decoders;
  for (ImageDecoder& decoder : decoders) decoder.open(jpeg);
  const Region outside{.x = 15, .y = 0, .width = 6, .height = 1};
  ImageDecoder::decode_ahead({&decoders[0], outside}, {&decoders[1], {.x = 0, .y = 0, .width = 20, .height = 10}});
  CHECK_THROWS_AS(decoders[0].read(outside), bale::Error);
  CHECK_NOTHROW(decoders[1].read({.x = 0, .y = 0, .width = 20, .height = 10}));
}
