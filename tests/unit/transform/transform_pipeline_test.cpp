#include <algorithm>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/color/color.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/loader/transform/sample_pipeline.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/drawn.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/random_bytes.hpp"

namespace {

using bale::SamplePipeline;
using bale::Transform;
using bale::test::code_of;
using bale::test::random_image;
using Output = std::vector<std::byte>;

constexpr std::uint64_t k_max_pixels = 1 << 20;

/// What comes out, with bytes around it that must stay as they are.
Output run(const Transform& transform, const std::vector<std::byte>& image, const bale::DrawKey& key = {},
           std::size_t room = 0) {
  SamplePipeline pipeline(transform, k_max_pixels);
  const std::size_t size = transform.has_fixed_shape() ? transform.image_bytes() : room;
  Output out(size + 64, std::byte{0x5A});
  const bale::AppliedTransform applied = pipeline.run(image, key, bale::MutableBytes(out).first(size));
  CHECK(std::all_of(out.begin() + static_cast<std::ptrdiff_t>(applied.bytes), out.end(),
                    [](std::byte byte) { return byte == std::byte{0x5A}; }));
  out.resize(applied.bytes);
  return out;
}

Output bytes_of(const std::vector<std::uint8_t>& values) {
  Output out(values.size());
  std::transform(values.begin(), values.end(), out.begin(), [](std::uint8_t value) { return std::byte{value}; });
  return out;
}

}  // namespace

TEST_CASE("Raw images are the stored bytes") {
  const Output stored = bytes_of({1, 2, 3, 250});
  CHECK(run(bale::raw_transform(), stored, {}, 10) == stored);
  CHECK(run(bale::raw_transform(), stored, {}, 4) == stored);
  CHECK(run(bale::raw_transform(), {}, {}, 4).empty());
  CHECK(code_of([&] { run(bale::raw_transform(), stored, {}, 3); }) == bale::ErrorCode::unsupported);
}

TEST_CASE("Ragged images are the decoded pixels") {
  const bale::Image image = random_image(13, 7);
  const auto png = bale::encode_png(image);
  CHECK(run(bale::ragged_transform(), png, {}, 500) == bytes_of(image.rgb));
  CHECK(code_of([&] { run(bale::ragged_transform(), png, {}, 13 * 7 * 3 - 1); }) == bale::ErrorCode::unsupported);
}

TEST_CASE("Padded images lie in the top left among zeros") {
  const bale::Image image = random_image(3, 2);
  std::vector<std::uint8_t> expected(4 * 5 * 3);
  for (std::size_t y = 0; y < 2; ++y) {
    std::copy_n(image.rgb.begin() + static_cast<std::ptrdiff_t>(y * 9), 9,
                expected.begin() + static_cast<std::ptrdiff_t>(y * 15));
  }
  CHECK(run(bale::padded_transform(4, 5), bale::encode_png(image)) == bytes_of(expected));
  CHECK(run(bale::padded_transform(2, 3), bale::encode_png(image)) == bytes_of(image.rgb));
  CHECK(code_of([&] { run(bale::padded_transform(9, 2), bale::encode_png(image)); }) == bale::ErrorCode::unsupported);
}

TEST_CASE("What is padded is zero in the batch, also if it is normalized, and the image is as without padding") {
  const auto png = bale::encode_png(random_image(3, 2));
  namespace T = bale::transforms;
  const T::ToDtype floats{};
  const T::Normalize normalize{};
  for (const bale::PixelLayout layout : {bale::PixelLayout::nhwc, bale::PixelLayout::nchw}) {
    const T::RandomHorizontalFlip flip{.p = 1};
    const Output whole =
        run(bale::list_transform({T::CenterCrop{.size = {2, 3}}, flip, floats, normalize}, layout), png);
    const Output padded = run(bale::list_transform({flip, T::PadTo{.size = {4, 5}}, floats, normalize}, layout), png);
    const bool planar = layout == bale::PixelLayout::nchw;
    for (std::size_t y = 0; y < 4; ++y) {
      for (std::size_t x = 0; x < 5; ++x) {
        for (std::size_t channel = 0; channel < 3; ++channel) {
          const std::size_t at = planar ? (channel * 4 + y) * 5 + x : (y * 5 + x) * 3 + channel;
          const std::size_t from = planar ? (channel * 2 + y) * 3 + x : (y * 3 + x) * 3 + channel;
          const float value = bale::load_at<float>(padded.data() + at * sizeof(float));
          CHECK(value == (y < 2 && x < 3 ? bale::load_at<float>(whole.data() + from * sizeof(float)) : 0));
        }
      }
    }
  }
}

TEST_CASE("A training image is its crop resized and mirrored") {
  const bale::Image image = random_image(90, 60);
  const Transform transform = bale::train_transform(16);
  for (std::uint64_t sample = 0; sample < 30; ++sample) {
    const bale::test::Drawn draw = bale::test::drawn(bale::draw_steps(transform, {.sample = sample}, 90, 60));
    bale::Image crop{.width = draw.crop.width, .height = draw.crop.height};
    for (std::uint32_t y = 0; y < crop.height; ++y) {
      const auto row = image.rgb.begin() + static_cast<std::ptrdiff_t>(((draw.crop.y + y) * 90 + draw.crop.x) * 3);
      crop.rgb.insert(crop.rgb.end(), row, row + static_cast<std::ptrdiff_t>(crop.width) * 3);
    }
    bale::Image expected = bale::resize_image(crop, 16, 16);
    if (draw.flip) {
      for (std::size_t y = 0; y < 16; ++y) {
        for (std::size_t x = 0; x < 8; ++x) {
          std::swap_ranges(&expected.rgb[(y * 16 + x) * 3], &expected.rgb[(y * 16 + x) * 3 + 3],
                           &expected.rgb[(y * 16 + 15 - x) * 3]);
        }
      }
    }
    CHECK(run(transform, bale::encode_png(image), {.sample = sample}) == bytes_of(expected.rgb));
  }
}

TEST_CASE("Colors are changed in the drawn order and gray comes last") {
  const auto png = bale::encode_png(random_image(50, 40));
  const Transform plain = bale::train_transform(16);
  const Transform colorful = bale::list_transform(
      bale::test::training_list({.jitter = bale::transforms::ColorJitter::symmetric(0.4, 0.4, 0.4, 0.1), .gray = 0.3}));
  int grays = 0;
  for (std::uint64_t sample = 0; sample < 40; ++sample) {
    const bale::test::Drawn draw = bale::test::drawn(bale::draw_steps(colorful, {.sample = sample}, 50, 40));
    const Output before = run(plain, png, {.sample = sample});
    std::vector<std::uint8_t> expected(before.size());
    std::transform(before.begin(), before.end(), expected.begin(),
                   [](std::byte b) { return std::to_integer<std::uint8_t>(b); });
    for (const int change : draw.order) {
      if (change == 0) bale::adjust_brightness(expected.data(), 256, draw.factors[0]);
      if (change == 1) bale::adjust_contrast(expected.data(), 256, draw.factors[1]);
      if (change == 2) bale::adjust_saturation(expected.data(), 256, draw.factors[2]);
      if (change == 3) bale::adjust_hue(expected.data(), 256, draw.factors[3]);
    }
    if (draw.gray) bale::make_gray(expected.data(), 256);
    grays += draw.gray;
    CHECK(run(colorful, png, {.sample = sample}) == bytes_of(expected));
  }
  CHECK(grays > 3);
}

TEST_CASE("An evaluated image is resized and cropped in the center") {
  for (const auto& [width, height] : {std::pair{90u, 60u}, {41u, 70u}, {20u, 20u}, {300u, 21u}}) {
    const bale::Image image = random_image(width, height);
    const Output out = run(bale::val_transform(20, 20), bale::encode_png(image));
    CHECK(out == bytes_of(bale::resize_and_center_crop(image, 20).rgb));
  }
}

TEST_CASE("One pipeline serves images of all sizes and survives bad ones") {
  SamplePipeline pipeline(bale::train_transform(16), k_max_pixels);
  Output out(16 * 16 * 3);
  Output first;
  for (int round = 0; round < 2; ++round) {
    for (const auto& [width, height] : {std::pair{90u, 60u}, {1u, 1u}, {400u, 300u}, {2u, 90u}}) {
      const auto applied = pipeline.run(bale::encode_jpeg(random_image(width, height), 90), {.seed = 1}, out);
      CHECK(applied.source_width == width);
      CHECK(applied.source_height == height);
      CHECK(applied.bytes == out.size());
      if (width == 90 && round == 0) first = out;
      if (width == 90 && round == 1) CHECK(out == first);
    }
    auto cut = bale::encode_jpeg(random_image(64, 64), 90);
    cut.resize(cut.size() / 2);
    CHECK(code_of([&] { pipeline.run(cut, {}, out); }) == bale::ErrorCode::damaged);
    CHECK(code_of([&] { pipeline.run({}, {}, out); }) == bale::ErrorCode::damaged);
    CHECK(code_of([&] { pipeline.run(bytes_of({'h', 'e', 'l', 'l', 'o'}), {}, out); }) == bale::ErrorCode::unsupported);
  }
}

TEST_CASE("Images beyond the limit of pixels are refused") {
  SamplePipeline pipeline(bale::train_transform(16), 99);
  Output out(16 * 16 * 3);
  CHECK(code_of([&] { pipeline.run(bale::encode_png(random_image(10, 10)), {}, out); }) ==
        bale::ErrorCode::unsupported);
  CHECK_NOTHROW(pipeline.run(bale::encode_png(random_image(11, 9)), {}, out));
}

TEST_CASE("Too little room for a fixed shape is the caller's mistake") {
  SamplePipeline pipeline(bale::train_transform(16), k_max_pixels);
  Output out(16 * 16 * 3 - 1);
  CHECK(code_of([&] { pipeline.run(bale::encode_png(random_image(10, 10)), {}, out); }) ==
        bale::ErrorCode::invalid_argument);
}
