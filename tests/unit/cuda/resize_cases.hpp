// Decoded images, what the kernels that resize are to make of them, and what the workers' Resizer makes.
#pragma once

#include <algorithm>
#include <vector>

#include "bale/formats/base/random.hpp"
#include "bale/formats/image/resample/resizer.hpp"
#include "bale/loader/cuda/decode/device_decoder.hpp"

namespace bale::test {

using cuda_detail::ResizeRow;

inline constexpr std::uint8_t k_untouched = 0xA5;

struct Decoded {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint8_t> rgb{};
};

inline Decoded random_image(std::uint32_t width, std::uint32_t height, KeyedRandom& random) {
  Decoded image{width, height, std::vector<std::uint8_t>(std::size_t{width} * height * 3)};
  for (std::uint8_t& value : image.rgb) value = static_cast<std::uint8_t>(random.next());
  return image;
}

/// A crop of the image that is resized, and a window of the result.
inline EncodedImage random_resize(const Decoded& image, std::uint32_t width, std::uint32_t height,
                                  KeyedRandom& random) {
  EncodedImage one{.bytes = 1};
  const auto part_width = static_cast<std::uint32_t>(1 + random.below(image.width));
  const auto part_height = static_cast<std::uint32_t>(1 + random.below(image.height));
  one.left = static_cast<std::uint32_t>(random.below(image.width - part_width + 1));
  one.top = static_cast<std::uint32_t>(random.below(image.height - part_height + 1));
  const auto more = [&] { return static_cast<std::uint32_t>(random.below(3) == 0 ? random.below(9) : 0); };
  one.resize = resize_whole(part_width, part_height, width + more(), height + more());
  if (random.below(8) == 0) one.resize.width = std::max(width, part_width);
  if (random.below(8) == 0) one.resize.height = std::max(height, part_height);
  one.resize.window = {static_cast<std::uint32_t>(random.below(one.resize.width - width + 1)),
                       static_cast<std::uint32_t>(random.below(one.resize.height - height + 1)), width, height};
  one.resize.filter = random.below(2) == 0 ? Filter::bilinear : Filter::bicubic;
  one.resize.pass_order = random.below(2) == 0 ? PassOrder::pillow_13 : PassOrder::pillow_12;
  one.resize.mirror = random.below(2) == 0;
  return one;
}

inline std::vector<std::uint8_t> by_resizer(const Decoded& image, const EncodedImage& one) {
  const Region needs = resize_needs(one.resize);
  const std::size_t stride = std::size_t{image.width} * 3;
  const std::uint8_t* const first = image.rgb.data() + (one.top + needs.y) * stride + (one.left + needs.x) * 3UL;
  std::vector<std::uint8_t> out(std::size_t{one.resize.window.width} * one.resize.window.height * 3);
  Resizer().run(one.resize, {.rgb = first, .stride = stride, .width = needs.width, .height = needs.height}, out.data(),
                one.resize.window.width * 3UL);
  return out;
}

/// Images of a batch, as ResizeArgs has them. Each fifth is none: its pixels stay k_untouched.
struct ResizeCase {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint8_t> decoded = std::vector<std::uint8_t>(11);  // no image begins at the memory's start
  std::vector<ResizeRow> rows{};
  std::uint64_t table_begin = 3;  // words
  std::uint64_t table_end = 3;
  std::vector<std::uint8_t> expected{};

  ResizeCase(std::uint32_t of_width, std::uint32_t of_height, std::uint32_t num_images, KeyedRandom& random)
      : width(of_width), height(of_height) {
    for (std::uint32_t i = 0; i < num_images; ++i) add(i % 5 != 4, random);
  }

 private:
  void add(bool is_resized, KeyedRandom& random) {
    const Decoded image = random_image(static_cast<std::uint32_t>(1 + random.below(150)),
                                       static_cast<std::uint32_t>(1 + random.below(150)), random);
    const EncodedImage one = random_resize(image, width, height, random);
    ResizeRow row = cuda_detail::resize_row(one);
    row.decoded = decoded.size();
    row.pitch = image.width * 3;
    row.across.table = table_end;
    table_end += std::uint64_t{width} * row.across.entry_words;
    row.down.table = table_end;
    table_end += std::uint64_t{height} * row.down.entry_words;
    decoded.insert(decoded.end(), image.rgb.begin(), image.rgb.end());
    rows.push_back(is_resized ? row : ResizeRow{});
    const auto made =
        is_resized ? by_resizer(image, one) : std::vector<std::uint8_t>(std::size_t{width} * height * 3, k_untouched);
    expected.insert(expected.end(), made.begin(), made.end());
  }
};

}  // namespace bale::test
