// The source of the kernels that resize decoded images, run on the host, against the workers' Resizer; and its PTX.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "bale/formats/base/random.hpp"
#include "bale/formats/image/resample/resample_weights.hpp"
#include "bale/formats/image/resample/resizer.hpp"
#include "bale/loader/cuda/device_decoder.hpp"
#include "bale/loader/cuda/host_kernels.hpp"
#include "bale/tests/support/catch.hpp"

namespace bale::cuda_detail {
extern const char* const k_resize_kernels_ptx;
}  // namespace bale::cuda_detail

using namespace bale;
using namespace bale::cuda_detail;

namespace {

constexpr std::uint8_t k_untouched = 0xA5;

struct Decoded {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint8_t> rgb{};
};

Decoded random_image(std::uint32_t width, std::uint32_t height, KeyedRandom& random) {
  Decoded image{width, height, std::vector<std::uint8_t>(std::size_t{width} * height * 3)};
  for (std::uint8_t& value : image.rgb) value = static_cast<std::uint8_t>(random.next());
  return image;
}

/// A crop of the image that is resized, and a window of the result.
EncodedImage random_resize(const Decoded& image, std::uint32_t width, std::uint32_t height, KeyedRandom& random) {
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

std::vector<std::uint8_t> by_resizer(const Decoded& image, const EncodedImage& one) {
  const Region needs = resize_needs(one.resize);
  const std::size_t stride = std::size_t{image.width} * 3;
  const std::uint8_t* const first = image.rgb.data() + (one.top + needs.y) * stride + (one.left + needs.x) * 3UL;
  std::vector<std::uint8_t> out(std::size_t{one.resize.window.width} * one.resize.window.height * 3);
  Resizer().run(one.resize, {.rgb = first, .stride = stride, .width = needs.width, .height = needs.height}, out.data(),
                one.resize.window.width * 3UL);
  return out;
}

}  // namespace

TEST_CASE("Kernels crop, resize and mirror as the workers do, bit for bit") {
  KeyedRandom random{1};
  for (const auto& [width, height] : {std::pair{1U, 1U}, {7U, 5U}, {32U, 32U}, {45U, 20U}}) {
    for (const HostGrid& grid : {HostGrid{1, 1, 256}, HostGrid{3, 2, 256}, HostGrid{2, 70, 256}}) {
      std::vector<Decoded> images;
      std::vector<ResizeRow> rows;
      std::vector<std::uint8_t> decoded(11);  // no image begins at the memory's start
      std::vector<std::uint8_t> expected;
      std::uint64_t table_words = 3;
      constexpr std::uint32_t k_num_images = 24;
      for (std::uint32_t i = 0; i < k_num_images; ++i) {
        const Decoded image = random_image(static_cast<std::uint32_t>(1 + random.below(150)),
                                           static_cast<std::uint32_t>(1 + random.below(150)), random);
        const EncodedImage one = random_resize(image, width, height, random);
        ResizeRow row = resize_row(one);
        row.decoded = decoded.size();
        row.pitch = image.width * 3;
        row.across.table = table_words;
        table_words += std::uint64_t{width} * row.across.entry_words;
        row.down.table = table_words;
        table_words += std::uint64_t{height} * row.down.entry_words;
        if (i % 5 == 4) row = {};  // its pixels come from the host
        decoded.insert(decoded.end(), image.rgb.begin(), image.rgb.end());
        rows.push_back(row);
        const auto made = i % 5 == 4 ? std::vector<std::uint8_t>(std::size_t{width} * height * 3, k_untouched)
                                     : by_resizer(image, one);
        expected.insert(expected.end(), made.begin(), made.end());
      }
      std::vector<std::int32_t> table(table_words + 2, -7);
      std::vector<std::uint8_t> out(expected.size(), k_untouched);
      const ResizeArgs args{.decoded = decoded.data(),
                            .rows = rows.data(),
                            .table = table.data(),
                            .out = out.data(),
                            .width = width,
                            .height = height,
                            .num_images = k_num_images};
      run_resize_weights(args, grid);
      run_resize(args, grid);
      CHECK(out == expected);
      CHECK((table[0] == -7 && table[2] == -7 && table[table_words] == -7));
    }
  }
}

TEST_CASE("The build has PTX of the kernels that resize, with the parameter that the host passes") {
  const std::string ptx = k_resize_kernels_ptx;
  for (const std::string name : {"bale_resize_weights", "bale_resize"}) {
    CHECK(ptx.find(".visible .entry " + name + "(") != std::string::npos);
    CHECK(ptx.find(name + "_param_0[" + std::to_string(sizeof(ResizeArgs)) + "]") != std::string::npos);
  }
  // Contraction would give weights other bits than the host's, and so would divisions that are not rounded to nearest.
  CHECK(ptx.find("fma.") == std::string::npos);
  CHECK(ptx.find("div.approx") == std::string::npos);
  CHECK(ptx.find("div.rn.f64") != std::string::npos);
}
