// JPEG XL, which Pillow does not read: against what libjxl's encoder was given.
#include <jxl/encode.h>

#include <random>

#include "bale/formats/image/image.hpp"
#include "bale/formats/image/image_check.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"

namespace {

using Buffer = std::vector<std::byte>;

struct Encoding {
  std::uint32_t channels = 3;
  bool lossless = true;
  bool boxes = false;
};

std::vector<std::uint8_t> noise(std::size_t size) {
  std::mt19937 random(7);
  std::vector<std::uint8_t> out(size);
  for (std::uint8_t& value : out) value = static_cast<std::uint8_t>(random());
  return out;
}

Buffer encode(std::uint32_t width, std::uint32_t height, const std::vector<std::uint8_t>& pixels, Encoding how) {
  JxlEncoder* const encoder = JxlEncoderCreate(nullptr);
  JxlBasicInfo info;
  JxlEncoderInitBasicInfo(&info);
  info.xsize = width;
  info.ysize = height;
  info.bits_per_sample = 8;
  info.num_color_channels = how.channels < 3 ? 1 : 3;
  info.uses_original_profile = how.lossless ? JXL_TRUE : JXL_FALSE;
  if (how.channels % 2 == 0) {
    info.alpha_bits = 8;
    info.num_extra_channels = 1;
  }
  REQUIRE(JxlEncoderUseContainer(encoder, how.boxes ? JXL_TRUE : JXL_FALSE) == JXL_ENC_SUCCESS);
  REQUIRE(JxlEncoderSetBasicInfo(encoder, &info) == JXL_ENC_SUCCESS);
  JxlColorEncoding color;
  JxlColorEncodingSetToSRGB(&color, how.channels < 3 ? JXL_TRUE : JXL_FALSE);
  REQUIRE(JxlEncoderSetColorEncoding(encoder, &color) == JXL_ENC_SUCCESS);
  JxlEncoderFrameSettings* const settings = JxlEncoderFrameSettingsCreate(encoder, nullptr);
  if (how.lossless) REQUIRE(JxlEncoderSetFrameLossless(settings, JXL_TRUE) == JXL_ENC_SUCCESS);
  const JxlPixelFormat format{how.channels, JXL_TYPE_UINT8, JXL_NATIVE_ENDIAN, 0};
  REQUIRE(JxlEncoderAddImageFrame(settings, &format, pixels.data(), pixels.size()) == JXL_ENC_SUCCESS);
  JxlEncoderCloseInput(encoder);
  Buffer out(std::size_t{1} << 20);
  auto* next = reinterpret_cast<std::uint8_t*>(out.data());
  std::size_t left = out.size();
  REQUIRE(JxlEncoderProcessOutput(encoder, &next, &left) == JXL_ENC_SUCCESS);
  JxlEncoderDestroy(encoder);
  out.resize(out.size() - left);
  return out;
}

std::vector<std::uint8_t> rgb_of(const std::vector<std::uint8_t>& pixels, std::uint32_t channels) {
  std::vector<std::uint8_t> out;
  for (std::size_t at = 0; at < pixels.size(); at += channels) {
    for (std::size_t i = 0; i < 3; ++i) out.push_back(pixels[at + (channels < 3 ? 0 : i)]);
  }
  return out;
}

}  // namespace

TEST_CASE("JPEG XL without loss has the pixels that it was made of") {
  for (const std::uint32_t channels : {1u, 2u, 3u, 4u}) {
    for (const bool boxes : {false, true}) {
      const auto pixels = noise(std::size_t{33} * 21 * channels);
      const Buffer bytes = encode(33, 21, pixels, {.channels = channels, .boxes = boxes});
      const bale::Image image = bale::decode_image(bytes);
      CHECK(image.width == 33);
      CHECK(image.height == 21);
      CHECK(image.rgb == rgb_of(pixels, channels));
      const bale::ImageHeader header = bale::probe_image(bytes);
      CHECK(header.kind == bale::ImageKind::jxl);
      CHECK(header.width == 33);
      CHECK(header.height == 21);
      CHECK(header.channels == channels);
      CHECK(bale::check_image(bytes, bale::ImageCheck::quick).condition == bale::ImageCondition::complete);
      CHECK(bale::test::code_of([&] { bale::decode_image(bytes, 33 * 21 - 1); }) == bale::ErrorCode::unsupported);
    }
  }
}

TEST_CASE("JPEG XL with loss is in sRGB") {
  for (const std::uint32_t channels : {1u, 3u}) {
    const std::vector<std::uint8_t> pixels(std::size_t{16} * 16 * channels, 96);
    const bale::Image image = bale::decode_image(encode(16, 16, pixels, {.channels = channels, .lossless = false}));
    for (const std::uint8_t value : image.rgb) CHECK((value >= 94 && value <= 98));
  }
}

TEST_CASE("A part of a JPEG XL is damaged") {
  for (const bool boxes : {false, true}) {
    const Buffer bytes = encode(33, 21, noise(std::size_t{33} * 21 * 3), {.boxes = boxes});
    for (std::size_t length = 1; length < bytes.size(); length += 1 + length / 8) {
      const Buffer part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
      CHECK(bale::test::refuses_content([&] { bale::decode_image(part); }));
      CHECK(bale::check_image(part, bale::ImageCheck::quick).condition != bale::ImageCondition::complete);
    }
  }
}
