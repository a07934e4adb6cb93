// The kernels' source, run on the host over the grid that the device would run, against the workers' conversion; and
// the PTX that was made of it.
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <vector>

#include "bale/formats/base/codec/half.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/loader/cuda/kernels/host_kernels.hpp"
#include "bale/loader/transform/pixels/convert.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/temp_dir.hpp"

namespace bale::cuda_detail {
extern const char* const k_convert_kernels_ptx;
extern const char* const k_mix_kernels_ptx;
extern const char* const k_resize_kernels_ptx;
extern const char* const k_spin_kernel_ptx;
}  // namespace bale::cuda_detail

using namespace bale;
using namespace bale::cuda_detail;
using transform_detail::PixelConverter;

namespace {

constexpr std::byte k_untouched_byte{0xA5};
constexpr std::size_t k_guard_bytes = 64;  // before and after the output

struct Case {
  std::uint32_t width;
  std::uint32_t height;
  DType dtype;
  PixelLayout layout;
};

const char* dtype_name(DType dtype) {
  return dtype == DType::float16 ? "float16" : dtype == DType::bfloat16 ? "bfloat16" : "float32";
}

std::vector<Case> cases() {
  std::vector<Case> all;
  const std::pair<std::uint32_t, std::uint32_t> sizes[] = {{1, 1}, {4, 1}, {3, 5}, {8, 6}, {10, 4}, {64, 40}, {61, 33}};
  for (const auto& [width, height] : sizes) {
    for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32}) {
      for (const PixelLayout layout : {PixelLayout::nhwc, PixelLayout::nchw}) {
        all.push_back({width, height, dtype, layout});
      }
    }
  }
  return all;
}

Transform transform_of(const Case& one) {
  Transform transform = padded_transform(one.height, one.width);
  transform.dtype = one.dtype;
  transform.layout = one.layout;
  transform.normalize = true;
  return transform;
}

std::vector<std::uint8_t> random_pixels(std::size_t size, std::uint64_t seed) {
  KeyedRandom random{seed};
  std::vector<std::uint8_t> pixels(size);
  for (std::uint8_t& value : pixels) value = static_cast<std::uint8_t>(random.next());
  return pixels;
}

std::vector<std::byte> table_of(Transform transform, bool as_floats) {
  if (as_floats) transform.dtype = DType::float32;
  transform.layout = PixelLayout::nchw;
  std::vector<std::uint8_t> all;
  for (int value = 0; value < 256; ++value) all.insert(all.end(), 3, static_cast<std::uint8_t>(value));
  std::vector<std::byte> table(768 * dtype_bytes(transform.dtype));
  PixelConverter(transform).run({all.data(), all.size(), 256, 1}, 256, 1, table.data());
  return table;
}

/// What the kernel of that name makes, on a grid of that size.
std::vector<std::byte> run(const std::string& name, const Transform& transform, const std::vector<std::uint8_t>& pixels,
                           const std::vector<ConvertRow>& rows, const std::vector<std::byte>& table,
                           const HostGrid& grid) {
  const std::size_t size = rows.size() * transform.image_bytes();
  std::vector<std::byte> out(size + 2 * k_guard_bytes, k_untouched_byte);
  const ConvertArgs args{.in = pixels.data(),
                         .rows = rows.data(),
                         .table = table.data(),
                         .out = out.data() + k_guard_bytes,
                         .width = transform.width,
                         .height = transform.height,
                         .num_images = static_cast<std::uint32_t>(rows.size())};
  const HostKernel kernel = host_kernel_named(name);
  REQUIRE(kernel.run);
  kernel.run(args, grid);
  for (std::size_t i = 0; i < k_guard_bytes; ++i) {
    REQUIRE((out[i] == k_untouched_byte && out[k_guard_bytes + size + i] == k_untouched_byte));
  }
  return {out.begin() + k_guard_bytes, out.end() - k_guard_bytes};
}

/// The whole image, height x width x 3 with an alpha that says what is there: by the plainest means.
std::vector<std::array<int, 4>> plain_image(const Case& one, const std::vector<std::uint8_t>& pixels, std::size_t image,
                                            const ConvertRow& row) {
  std::vector<std::array<int, 4>> plain;
  for (std::uint32_t y = 0; y < one.height; ++y) {
    for (std::uint32_t x = 0; x < one.width; ++x) {
      const std::uint32_t from = row.mirrored != 0 ? one.width - 1 - x : x;
      const std::size_t at = ((image * one.height + y) * one.width + from) * 3;
      plain.push_back({pixels[at], pixels[at + 1], pixels[at + 2], from < row.width && y < row.height});
    }
  }
  return plain;
}

/// Writes a value in the type and layout of the output.
void put(std::vector<std::byte>& out, const Case& one, std::size_t image, std::size_t pixel, std::size_t c,
         float value) {
  const std::size_t plane = std::size_t{one.width} * one.height;
  const std::size_t at =
      one.layout == PixelLayout::nhwc ? (image * plane + pixel) * 3 + c : (image * 3 + c) * plane + pixel;
  const std::uint16_t half = one.dtype == DType::float16 ? to_float16(value) : to_bfloat16(value);
  if (one.dtype == DType::float32) {
    std::memcpy(out.data() + at * 4, &value, 4);
  } else {
    std::memcpy(out.data() + at * 2, &half, 2);
  }
}

constexpr std::uint32_t k_num_rows = 6;

/// Rows of random sizes, the first one empty and every second one mirrored. With `mixes`, each has the row before it as
/// its partner, a third of them are mixed with it, and a third have a random box of it.
std::vector<ConvertRow> random_rows(const Case& one, bool mixes, KeyedRandom& random) {
  std::vector<ConvertRow> rows(k_num_rows);
  for (std::uint32_t i = 0; i < k_num_rows; ++i) {
    ConvertRow& row = rows[i];
    row.width = i == 0 ? 0 : static_cast<std::uint32_t>(1 + random.below(one.width));
    row.height = i == 0 ? 0 : static_cast<std::uint32_t>(1 + random.below(one.height));
    row.mirrored = i % 2;
    if (!mixes) continue;
    row.partner = (i + k_num_rows - 1) % k_num_rows;
    if (i % 3 == 1) {
      row.share = 0.3F;
      row.rest = 0.7F;
    }
    if (i % 3 == 2) {
      row.box_left = static_cast<std::uint32_t>(random.below(one.width));
      row.box_top = static_cast<std::uint32_t>(random.below(one.height));
      row.box_right = static_cast<std::uint32_t>(row.box_left + random.below(one.width - row.box_left + 1));
      row.box_bottom = static_cast<std::uint32_t>(row.box_top + random.below(one.height - row.box_top + 1));
    }
  }
  return rows;
}

/// What the kernels should make of the rows, by the plainest means. `float_table`: of table_of(transform, true).
std::vector<std::byte> expected_images(const Case& one, const std::vector<std::uint8_t>& pixels,
                                       const std::vector<ConvertRow>& rows, const std::vector<std::byte>& float_table) {
  std::vector<float> floats(768);
  std::memcpy(floats.data(), float_table.data(), float_table.size());
  std::vector<std::byte> expected(rows.size() * transform_of(one).image_bytes());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ConvertRow& row = rows[i];
    const auto own = plain_image(one, pixels, i, row);
    const auto other = plain_image(one, pixels, row.partner, rows[row.partner]);
    for (std::size_t pixel = 0; pixel < own.size(); ++pixel) {
      const std::size_t x = pixel % one.width;
      const std::size_t y = pixel / one.width;
      const bool boxed = x >= row.box_left && x < row.box_right && y >= row.box_top && y < row.box_bottom;
      for (std::size_t c = 0; c < 3; ++c) {
        const auto float_of = [&](const std::array<int, 4>& from) {
          return from[3] != 0 ? floats[c * 256 + static_cast<std::size_t>(from[c])] : 0.0F;
        };
        float value = float_of(own[pixel]);
        if (row.rest != 0) {
          const volatile float a = row.share * value;  // each step is rounded by itself
          const volatile float b = row.rest * float_of(other[pixel]);
          value = a + b;
        }
        if (boxed) value = float_of(other[pixel]);
        put(expected, one, i, pixel, c, value);
      }
    }
  }
  return expected;
}

const HostGrid k_grids[] = {{1, 1, 256}, {3, 2, 256}, {7, 5, 256}};

}  // namespace

TEST_CASE("Kernels convert as the workers do, bit for bit") {
  for (const Case& one : cases()) {
    const Transform transform = transform_of(one);
    const std::size_t image_bytes = std::size_t{one.width} * one.height * 3;
    const auto pixels = random_pixels(5 * image_bytes, 1);
    const ConvertRow whole{.width = one.width, .height = one.height};
    std::vector<std::byte> expected(5 * transform.image_bytes());
    for (std::size_t i = 0; i < 5; ++i) {
      PixelConverter(transform).run({pixels.data() + i * image_bytes, one.width * 3UL, one.width, one.height},
                                    one.width, one.height, expected.data() + i * transform.image_bytes());
    }
    const auto table = table_of(transform, false);
    const char* const layout = one.layout == PixelLayout::nhwc ? "nhwc" : "nchw";
    for (const int pixels_a_thread : {1, 4}) {
      if (one.width % static_cast<unsigned>(pixels_a_thread) != 0) continue;
      for (const auto& grid : k_grids) {
        const std::string name = "bale_convert_" + std::to_string(8 * dtype_bytes(one.dtype)) + "_" + layout + "_" +
                                 std::to_string(pixels_a_thread);
        CHECK(run(name, transform, pixels, std::vector(5, whole), table, grid) == expected);
        const std::string mixing =
            std::string("bale_mix_") + dtype_name(one.dtype) + "_" + layout + "_" + std::to_string(pixels_a_thread);
        CHECK(run(mixing, transform, pixels, std::vector(5, whole), table_of(transform, true), grid) == expected);
      }
    }
  }
}

TEST_CASE("Kernels mirror, fill up with zeros, mix and paste") {
  for (const Case& one : cases()) {
    const Transform transform = transform_of(one);
    const auto pixels = random_pixels(std::size_t{k_num_rows} * one.width * one.height * 3, 2);
    const auto plain_table = table_of(transform, false);
    const auto float_table = table_of(transform, true);
    const bool planar = one.layout == PixelLayout::nchw;
    KeyedRandom random{one.width, one.height};
    for (const bool mixes : {false, true}) {
      const auto rows = random_rows(one, mixes, random);
      const auto expected = expected_images(one, pixels, rows, float_table);
      for (const int pixels_a_thread : {1, 4}) {
        if (one.width % static_cast<unsigned>(pixels_a_thread) != 0) continue;
        const std::string tail = std::string(planar ? "_nchw_" : "_nhwc_") + std::to_string(pixels_a_thread);
        const std::string bits = std::to_string(8 * dtype_bytes(one.dtype));
        CHECK(run("bale_mix_" + std::string(dtype_name(one.dtype)) + tail, transform, pixels, rows, float_table,
                  {3, 2, 256}) == expected);
        if (!mixes) {
          CHECK(run("bale_convert_" + bits + tail, transform, pixels, rows, plain_table, {3, 2, 256}) == expected);
        }
      }
    }
  }
}

TEST_CASE("The build has PTX of every kernel, with the parameter that the host passes") {
  std::size_t kernels = 0;
  for (const std::string kind : {"convert_16", "convert_32", "mix_float16", "mix_bfloat16", "mix_float32"}) {
    const std::string ptx = kind.starts_with("mix") ? k_mix_kernels_ptx : k_convert_kernels_ptx;
    for (const std::string tail : {"_nhwc_4", "_nhwc_1", "_nchw_4", "_nchw_1"}) {
      const std::string name = "bale_" + kind + tail;
      CHECK(ptx.find(".visible .entry " + name + "(") != std::string::npos);
      CHECK(ptx.find(name + "_param_0[" + std::to_string(sizeof(ConvertArgs)) + "]") != std::string::npos);
      CHECK(host_kernel_named(name).run);
      ++kernels;
    }
    // Contraction would give mixed values other bits than the host's.
    CHECK(ptx.find("fma.") == std::string::npos);
    CHECK(ptx.find(".ftz") == std::string::npos);
  }
  CHECK(kernels == 20);
}

#ifdef BALE_TEST_PTXAS
TEST_CASE_METHOD(test::InTempDir, "The PTX is accepted by NVIDIA's assembler, for old and new devices") {
  std::map<std::string, int> accepted;
  for (const char* const ptx : {k_convert_kernels_ptx, k_mix_kernels_ptx, k_resize_kernels_ptx, k_spin_kernel_ptx}) {
    std::ofstream(dir / "kernels.ptx") << ptx;
    const std::string text = ptx;
    const int made_for = std::atoi(text.substr(text.find(".target sm_") + 11).c_str());
    for (const int device : {60, 70, 75, 80, 90, 100}) {
      if (device < made_for) continue;
      const std::string command = std::string("'") + BALE_TEST_PTXAS + "' -arch=sm_" + std::to_string(device) + " -o " +
                                  (dir / "out.cubin") + " " + (dir / "kernels.ptx") + " 2>" + (dir / "errors");
      const int failed = std::system(command.c_str());
      std::ifstream errors(dir / "errors");
      const std::string said{std::istreambuf_iterator<char>(errors), {}};
      if (said.find("is not defined for option 'gpu-name'") != std::string::npos) continue;  // older than it knows
      INFO(said);
      CHECK(failed == 0);
      ++accepted["sm_" + std::to_string(device)];
    }
  }
  CHECK(accepted["sm_80"] == 4);
  CHECK(accepted["sm_90"] == 4);
}
#endif
