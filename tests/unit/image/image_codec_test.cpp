#include <algorithm>
#include <random>

#include "bale/formats/image/image.hpp"
#include "bale/tests/support/catch.hpp"
#include "image_samples.hpp"

namespace {

using Buffer = std::vector<std::byte>;

bale::Image gradient(std::uint32_t width, std::uint32_t height) {
  bale::Image image{.width = width, .height = height};
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      image.rgb.push_back(static_cast<std::uint8_t>(x * 255 / width));
      image.rgb.push_back(static_cast<std::uint8_t>(y * 255 / height));
      image.rgb.push_back(static_cast<std::uint8_t>((x + y) % 256));
    }
  }
  return image;
}

bale::ErrorCode error_of(const Buffer& bytes, std::uint64_t max_pixels = bale::k_default_max_pixels) {
  return bale::test::code_of([&] { bale::decode_image(bytes, max_pixels); });
}

std::size_t find(const Buffer& bytes, std::initializer_list<unsigned char> pattern) {
  const auto found = std::search(bytes.begin(), bytes.end(), pattern.begin(), pattern.end(),
                                 [](std::byte a, unsigned char b) { return std::to_integer<unsigned char>(a) == b; });
  REQUIRE(found != bytes.end());
  return static_cast<std::size_t>(found - bytes.begin());
}

/// The JPEG with other sides in its frame header.
Buffer with_jpeg_size(Buffer bytes, std::uint16_t width, std::uint16_t height) {
  const std::size_t at = find(bytes, {0xFF, 0xC0}) + 5;
  bytes[at] = static_cast<std::byte>(height >> 8);
  bytes[at + 1] = static_cast<std::byte>(height & 0xFF);
  bytes[at + 2] = static_cast<std::byte>(width >> 8);
  bytes[at + 3] = static_cast<std::byte>(width & 0xFF);
  return bytes;
}

/// Whether pixels of the announced size come out.
bool decodes(const Buffer& bytes) {
  return bale::test::decodes([&] {
    const bale::Image image = bale::decode_image(bytes, 1 << 20);
    REQUIRE(image.rgb.size() == std::size_t{image.width} * image.height * 3);
  });
}

}  // namespace

TEST_CASE("PNG keeps every pixel, JPEG nearly") {
  for (const auto& [width, height] : {std::pair{1u, 1u}, {3u, 2u}, {65u, 31u}}) {
    const bale::Image image = gradient(width, height);
    const bale::Image png = bale::decode_image(bale::encode_png(image));
    CHECK(png.width == width);
    CHECK(png.height == height);
    CHECK(png.rgb == image.rgb);

    bale::Image flat = image;
    std::fill(flat.rgb.begin(), flat.rgb.end(), std::uint8_t{100});
    const bale::Image jpeg = bale::decode_image(bale::encode_jpeg(flat, 90));
    CHECK(jpeg.width == width);
    CHECK(jpeg.height == height);
    CHECK(std::all_of(jpeg.rgb.begin(), jpeg.rgb.end(), [](int value) { return std::abs(value - 100) <= 1; }));
  }
}

TEST_CASE("JPEG quality decides the size") {
  const bale::Image image = gradient(64, 64);
  CHECK(bale::encode_jpeg(image, 20).size() < bale::encode_jpeg(image, 95).size());
  CHECK(bale::probe_image(bale::encode_jpeg(image, 75)).channels == 3);
}

TEST_CASE("Encoding refuses what is not an image") {
  CHECK_THROWS_AS(bale::encode_png({}), bale::Error);
  CHECK_THROWS_AS(bale::encode_jpeg({.width = 2, .height = 2, .rgb = {1, 2, 3}}, 90), bale::Error);
  CHECK_THROWS_AS(bale::encode_jpeg(gradient(2, 2), 0), bale::Error);
  CHECK_THROWS_AS(bale::encode_jpeg(gradient(2, 2), 101), bale::Error);
  CHECK_THROWS_AS(bale::encode_jpeg(gradient(65501, 1), 90), bale::Error);
}

TEST_CASE("No truncated image decodes, whole ones do") {
  const bale::Image image = gradient(24, 17);
  Buffer jpeg = bale::encode_jpeg(image, 80);
  Buffer png = bale::encode_png(image);
  CHECK(decodes(jpeg));
  CHECK(decodes(png));
  // The end marker (2 bytes) adds no pixel; in a PNG the last 12 bytes are IEND.
  for (std::size_t length = 0; length + 2 < jpeg.size(); ++length) {
    CHECK_FALSE(decodes(bale::test::first_bytes(jpeg, length)));
  }
  for (std::size_t length = 0; length + 24 < png.size(); ++length) {
    CHECK_FALSE(decodes(bale::test::first_bytes(png, length)));
  }
}

TEST_CASE("Flipped bits give pixels or an error, never more") {
  const bale::Image image = gradient(24, 17);
  std::mt19937 random(42);
  for (const Buffer& whole : {bale::encode_jpeg(image, 80), bale::encode_png(image)}) {
    int refused = 0;
    for (int round = 0; round < 3000; ++round) {
      Buffer flipped = whole;
      bale::test::flip_bits(flipped, 1 + random() % 3, random);
      if (!decodes(flipped)) ++refused;
    }
    CHECK(refused > 0);
  }
}

TEST_CASE("Sizes above the limit are refused before anything is allocated") {
  const Buffer jpeg = bale::encode_jpeg(gradient(16, 16), 80);
  CHECK(error_of(with_jpeg_size(jpeg, 65500, 65500)) == bale::ErrorCode::unsupported);
  CHECK(error_of(with_jpeg_size(jpeg, 65535, 65535)) == bale::ErrorCode::unsupported);
  CHECK(error_of(with_jpeg_size(jpeg, 0, 16)) == bale::ErrorCode::damaged);
  CHECK(error_of(jpeg, 255) == bale::ErrorCode::unsupported);
  CHECK(bale::decode_image(jpeg, 256).width == 16);
  CHECK_THROWS_AS(bale::decode_thumbnail(with_jpeg_size(jpeg, 65500, 65500), 8), bale::Error);

  Buffer png = bale::encode_png(gradient(16, 16));
  CHECK(error_of(png, 255) == bale::ErrorCode::unsupported);
  std::fill(png.begin() + 16, png.begin() + 24, std::byte{0x7F});
  CHECK(error_of(png) == bale::ErrorCode::unsupported);
  std::fill(png.begin() + 16, png.begin() + 24, std::byte{0});
  CHECK(error_of(png) == bale::ErrorCode::damaged);
}

TEST_CASE("What no codec here reads is named as such") {
  CHECK(error_of({}) == bale::ErrorCode::damaged);
  CHECK(error_of(Buffer(100)) == bale::ErrorCode::unsupported);
  const bale::Bytes gif = bale::as_bytes("GIF89a\x05\x01\x07\x01 and so on");
  CHECK(error_of({gif.begin(), gif.end()}) == bale::ErrorCode::damaged);

  Buffer jpeg = bale::encode_jpeg(gradient(16, 16), 80);
  const std::size_t frame = find(jpeg, {0xFF, 0xC0});
  jpeg[frame + 4] = std::byte{12};  // bits a sample
  CHECK(error_of(jpeg) == bale::ErrorCode::unsupported);
  jpeg[frame + 4] = std::byte{8};
  jpeg[frame + 1] = std::byte{0xC3};  // lossless
  CHECK(error_of(jpeg) == bale::ErrorCode::unsupported);
}

TEST_CASE("Scans without end are refused") {
  // A one-block progressive image: after its first scan, the same refinement of nothing again and again.
  Buffer jpeg;
  const auto add = [&](std::initializer_list<int> bytes) {
    for (const int byte : bytes) jpeg.push_back(static_cast<std::byte>(byte));
  };
  add({0xFF, 0xD8, 0xFF, 0xDB, 0, 67, 0});
  for (int i = 0; i < 64; ++i) add({1});
  add({0xFF, 0xC2, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0});
  add({0xFF, 0xC4, 0, 20, 0x00, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});  // DC: code 0 is "no change"
  add({0xFF, 0xC4, 0, 20, 0x10, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});  // AC: code 0 is "end of block"
  add({0xFF, 0xDA, 0, 8, 1, 1, 0x00, 0, 0, 0x00, 0x7F});
  const Buffer start = jpeg;
  const auto with_scans = [&](int scans) {
    jpeg = start;
    for (int i = 0; i < scans; ++i) add({0xFF, 0xDA, 0, 8, 1, 1, 0x00, 1, 63, 0x00, 0x7F});
    add({0xFF, 0xD9});
    return jpeg;
  };
  CHECK(decodes(with_scans(10)));
  CHECK(error_of(with_scans(600)) == bale::ErrorCode::unsupported);
}

TEST_CASE("EXIF data that points in circles or beyond its end changes no pixel") {
  const Buffer jpeg = bale::encode_jpeg(gradient(24, 17), 80);
  const bale::Image expected = bale::decode_image(jpeg);
  // TIFF header, and a directory of one entry: an EXIF directory, or what comes next, at `offset`.
  for (const std::uint8_t offset : {std::uint8_t{8}, std::uint8_t{0}, std::uint8_t{0xFF}}) {
    Buffer odd(jpeg.begin(), jpeg.begin() + 2);
    const std::initializer_list<int> exif{0xFF, 0xE1, 0, 34, 'E', 'x', 'i', 'f',    0,    0,    'M', 'M',
                                          0,    42,   0, 0,  0,   8,   0,   1,      0x87, 0x69, 0,   4,
                                          0,    0,    0, 1,  0,   0,   0,   offset, 0,    0,    0,   offset};
    for (const int byte : exif) {
      odd.push_back(static_cast<std::byte>(byte));
    }
    odd.insert(odd.end(), jpeg.begin() + 2, jpeg.end());
    CHECK(bale::probe_image(odd).width == 24);
    CHECK(bale::decode_image(odd).rgb == expected.rgb);
  }
  // A header of nothing but application data, and a length that is beyond the end.
  Buffer only(jpeg.begin(), jpeg.begin() + 2);
  for (int i = 0; i < 1000; ++i) {
    for (const int byte : {0xFF, 0xE1, 0, 2}) only.push_back(static_cast<std::byte>(byte));
  }
  CHECK(error_of(only) == bale::ErrorCode::damaged);
  for (const int byte : {0xFF, 0xE1, 0xFF, 0xFF}) only.push_back(static_cast<std::byte>(byte));
  CHECK(error_of(only) == bale::ErrorCode::damaged);
}

TEST_CASE("Thumbnails are scaled by the codec and large enough") {
  const Buffer jpeg = bale::encode_jpeg(gradient(200, 100), 90);
  CHECK(bale::decode_thumbnail(jpeg, 100).width == 200);
  CHECK(bale::decode_thumbnail(jpeg, 51).width == 200);
  CHECK(bale::decode_thumbnail(jpeg, 50).width == 100);
  CHECK(bale::decode_thumbnail(jpeg, 25).height == 25);
  CHECK(bale::decode_thumbnail(jpeg, 1).width == 25);
  CHECK(bale::decode_thumbnail(jpeg, 0).height == 13);
  CHECK(bale::decode_thumbnail(jpeg, 5000).width == 200);
  CHECK(bale::decode_thumbnail(bale::encode_png(gradient(40, 30)), 8).width == 40);
}
