#include "bale/formats/image/resample/resizer.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/resample/resample_kernels.hpp"
#include "bale/formats/image/simd/simd_target.hpp"
#include "bale/tests/support/catch.hpp"

namespace {

using bale::Filter;
using bale::PassOrder;
using bale::Region;
using bale::ResizeSpec;

/// Pixels in memory that ends with the last row's last byte, so that a sanitizer sees every step beyond it.
struct Pixels {
  Pixels(std::uint32_t columns, std::uint32_t rows, std::size_t gap, std::uint32_t seed)
      : width(columns), height(rows), stride(std::size_t{columns} * 3 + gap) {
    const std::size_t size = (rows - 1) * stride + std::size_t{columns} * 3;
    bytes = std::make_unique<std::uint8_t[]>(size);
    std::uint32_t state = seed * 2654435761u + 1;
    for (std::size_t i = 0; i < size; ++i) {
      state = state * 1664525u + 1013904223u;
      // Half of it black or white: sums at their limits.
      bytes[i] = state >> 31 != 0 ? static_cast<std::uint8_t>(state >> 20)
                                  : static_cast<std::uint8_t>((state >> 30 & 1) * 255);
    }
  }

  bale::PixelView part(const Region& region) const {
    return {bytes.get() + region.y * stride + std::size_t{region.x} * 3, stride, region.width, region.height};
  }

  std::uint32_t width;
  std::uint32_t height;
  std::size_t stride;
  std::unique_ptr<std::uint8_t[]> bytes;
};

using PixelBytes = std::vector<std::uint8_t>;

/// The window, rows without gaps.
PixelBytes run(bale::Resizer& resizer, const ResizeSpec& spec, const Pixels& source) {
  PixelBytes out(std::size_t{spec.window.width} * spec.window.height * 3);
  resizer.run(spec, source.part(resize_needs(spec)), out.data(), std::size_t{spec.window.width} * 3);
  return out;
}

/// The whole resized image by the plain passes alone, each over the whole of what it is given.
PixelBytes plain_whole(const ResizeSpec& spec, const Pixels& source) {
  const bale::PixelView whole = source.part({0, 0, source.width, source.height});
  bale::image_detail::AxisFilter across;
  bale::image_detail::AxisFilter down;
  across.assign({spec.source_width, spec.width, 0, spec.width, spec.filter, false});
  down.assign({spec.source_height, spec.height, 0, spec.height, spec.filter, false});
  const std::int64_t lost_rows = std::int64_t{spec.source_height} - spec.height;
  const std::int64_t lost_columns = std::int64_t{spec.source_width} - spec.width;
  PixelBytes out(std::size_t{spec.width} * spec.height * 3);
  if (spec.pass_order == PassOrder::pillow_13 && lost_rows > 0 && lost_rows > 2 * lost_columns) {
    PixelBytes low(std::size_t{source.width} * spec.height * 3);
    resample_down_plain(whole, down, {low.data(), std::size_t{source.width} * 3});
    resample_across_plain({low.data(), std::size_t{source.width} * 3, source.width, spec.height}, across,
                          {out.data(), std::size_t{spec.width} * 3});
  } else {
    PixelBytes narrow(std::size_t{spec.width} * source.height * 3);
    resample_across_plain(whole, across, {narrow.data(), std::size_t{spec.width} * 3});
    resample_down_plain({narrow.data(), std::size_t{spec.width} * 3, spec.width, source.height}, down,
                        {out.data(), std::size_t{spec.width} * 3});
  }
  return out;
}

/// The window of a whole image, mirrored where the spec says so.
PixelBytes cut(const ResizeSpec& spec, const PixelBytes& whole) {
  const Region& window = spec.window;
  PixelBytes out(std::size_t{window.width} * window.height * 3);
  std::uint8_t* to = out.data();
  for (std::uint32_t y = 0; y < window.height; ++y) {
    for (std::uint32_t x = 0; x < window.width; ++x, to += 3) {
      const std::uint32_t column = window.x + (spec.mirror ? window.width - 1 - x : x);
      std::copy_n(whole.data() + (std::size_t{window.y + y} * spec.width + column) * 3, 3, to);
    }
  }
  return out;
}

struct Sizes {
  std::uint32_t source_width;
  std::uint32_t source_height;
  std::uint32_t width;
  std::uint32_t height;
};

constexpr Sizes k_sizes[] = {
    {100, 80, 224, 224}, {250, 250, 224, 224}, {448, 400, 224, 224}, {451, 449, 224, 224},  // as in training
    {60, 400, 64, 24},   {1000, 300, 37, 41},  {1900, 30, 33, 30},   {30, 1300, 30, 17},    // many taps
    {1, 1, 1, 1},        {1, 1, 70, 70},       {1, 50, 40, 7},       {50, 1, 7, 40},        // one pixel
    {2, 3, 100, 90},     {3, 2, 17, 16},       {16, 16, 15, 15},     {21, 22, 23, 21},      // less than a vector
    {90, 70, 90, 35},    {90, 70, 45, 70},     {90, 70, 90, 70},     {5000, 2, 3, 3},       // one axis or none
    {4, 4000, 30, 2},    {4000, 4, 16, 30},    {3000, 5, 5, 3},      {900, 9, 8, 9},
    {10, 3, 66000, 1},   {9000, 2, 20, 2},     {70000, 1, 16, 1},    {2, 9000, 20, 20},  // beyond the tables
};

/// Makes one instruction set the one in use, until the end of the scope.
struct UseTarget {
  explicit UseTarget(const std::string& name) { bale::limit_simd(name); }
  ~UseTarget() { bale::limit_simd(""); }
  UseTarget(const UseTarget&) = delete;
  UseTarget& operator=(const UseTarget&) = delete;
};

/// A window that leaves something out on every side where there is enough.
Region inner_window(std::uint32_t width, std::uint32_t height) {
  const Region window{width / 5, height / 3, width - width / 5 - width / 7, height - height / 3 - height / 4};
  return {window.x, window.y, std::max(window.width, 1u), std::max(window.height, 1u)};
}

}  // namespace

TEST_CASE("Every instruction set gives the pixels of the plain passes") {
  const std::vector<std::string> targets = bale::simd_targets();
  REQUIRE(!targets.empty());
  std::uint32_t seed = 0;
  for (const Sizes& sizes : k_sizes) {
    const Pixels source(sizes.source_width, sizes.source_height, seed % 3, seed);
    ++seed;
    ResizeSpec spec = bale::resize_whole(sizes.source_width, sizes.source_height, sizes.width, sizes.height);
    for (const Filter filter : {Filter::bilinear, Filter::bicubic, Filter::lanczos}) {
      for (const PassOrder order : {PassOrder::pillow_13, PassOrder::pillow_12}) {
        spec.filter = filter;
        spec.pass_order = order;
        const PixelBytes whole = plain_whole(spec, source);
        for (const std::string& target : targets) {
          const UseTarget use(target);
          bale::Resizer resizer;
          for (const Region& window :
               {Region{0, 0, sizes.width, sizes.height}, inner_window(sizes.width, sizes.height)}) {
            for (const bool mirror : {false, true}) {
              spec.window = window;
              spec.mirror = mirror;
              INFO(target << ": " << sizes.source_width << "x" << sizes.source_height << " to " << sizes.width << "x"
                          << sizes.height);
              CHECK((run(resizer, spec, source) == cut(spec, whole)));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("Nothing between the rows is touched and nothing after the last") {
  for (const std::string& target : bale::simd_targets()) {
    const UseTarget use(target);
    for (const Sizes& sizes : {Sizes{60, 400, 64, 24},
                               {90, 70, 45, 70},
                               {90, 70, 90, 35},
                               {90, 70, 90, 70},
                               {300, 200, 65, 66},
                               {9, 9, 3, 3},
                               {40, 90, 17, 100}}) {
      const Pixels source(sizes.source_width, sizes.source_height, 0, 7);
      ResizeSpec spec = bale::resize_whole(sizes.source_width, sizes.source_height, sizes.width, sizes.height);
      for (const PassOrder order : {PassOrder::pillow_13, PassOrder::pillow_12}) {
        spec.pass_order = order;
        bale::Resizer resizer;
        const PixelBytes expected = run(resizer, spec, source);
        const std::size_t row_bytes = std::size_t{sizes.width} * 3;
        const std::size_t stride = row_bytes + 5;
        for (const std::uint8_t mark : {0x00, 0xFF}) {
          // In memory that ends with the last row.
          const std::size_t size = stride * (sizes.height - 1) + row_bytes;
          const auto out = std::make_unique<std::uint8_t[]>(size);
          std::fill_n(out.get(), size, mark);
          resizer.run(spec, source.part(resize_needs(spec)), out.get(), stride);
          bool kept = true;
          bool same = true;
          for (std::size_t i = 0; i < size; ++i) {
            const std::size_t column = i % stride;
            if (column >= row_bytes) {
              kept = kept && out[i] == mark;
            } else {
              same = same && out[i] == expected[i / stride * row_bytes + column];
            }
          }
          CHECK(kept);
          CHECK(same);
        }
      }
    }
  }
}

TEST_CASE("A resizer forgets the images before") {
  bale::Resizer used;
  for (const Sizes& sizes : k_sizes) {
    const Pixels source(sizes.source_width, sizes.source_height, 0, 3);
    const ResizeSpec spec = bale::resize_whole(sizes.source_width, sizes.source_height, sizes.width, sizes.height);
    bale::Resizer fresh;
    CHECK((run(used, spec, source) == run(fresh, spec, source)));
  }
}

TEST_CASE("Pass order changes the pixels") {
  const Pixels source(60, 400, 0, 5);
  ResizeSpec spec = bale::resize_whole(60, 400, 64, 24);
  bale::Resizer resizer;
  const PixelBytes rows_first = run(resizer, spec, source);
  spec.pass_order = PassOrder::pillow_12;
  CHECK_FALSE((run(resizer, spec, source) == rows_first));
}

TEST_CASE("Cubic weights overshoot at an edge") {
  // At a quarter and three quarters between the pixels, four neighbors weigh -9, 111, 29 and -3 of 128, or the
  // reverse.
  const ResizeSpec spec{.source_width = 8,
                        .source_height = 1,
                        .width = 16,
                        .height = 1,
                        .window = {0, 0, 16, 1},
                        .filter = Filter::bicubic};
  Pixels source(8, 1, 0, 0);
  std::fill_n(source.bytes.get(), 12, std::uint8_t{50});
  std::fill_n(source.bytes.get() + 12, 12, std::uint8_t{178});
  bale::Resizer resizer;
  const PixelBytes out = run(resizer, spec, source);
  CHECK(int{out[5 * 3]} == 47);  // 50 - 3
  CHECK(int{out[6 * 3]} == 41);  // 50 - 9
  CHECK(int{out[7 * 3]} == 76);  // 50 + 29 - 3
  CHECK(int{out[8 * 3]} == 152);
  CHECK(int{out[9 * 3]} == 187);
  CHECK(int{out[10 * 3]} == 181);
}

TEST_CASE("A window asks for no more of the source than it is made of") {
  ResizeSpec spec = bale::resize_whole(1000, 500, 100, 50);
  CHECK(resize_needs(spec) == Region{0, 0, 1000, 500});
  spec.window = {50, 20, 1, 1};
  CHECK(resize_needs(spec) == Region{495, 195, 20, 20});
  spec.filter = Filter::bicubic;
  CHECK(resize_needs(spec) == Region{485, 185, 40, 40});
  spec = bale::resize_whole(100, 50, 100, 50);
  spec.window = {3, 4, 5, 6};
  spec.mirror = true;
  CHECK(resize_needs(spec) == Region{3, 4, 5, 6});
}

TEST_CASE("The crop of a resized image is where torchvision takes it") {
  ResizeSpec spec = bale::resize_short_and_center_crop(500, 375, 256, 224, 224);
  CHECK(spec.width == 341);
  CHECK(spec.height == 256);
  CHECK(spec.window == Region{58, 16, 224, 224});  // round(58.5)
  spec = bale::resize_short_and_center_crop(375, 500, 256, 200, 100);
  CHECK(spec.window == Region{28, 120, 200, 100});  // round(120.5)
  CHECK_THROWS_AS(bale::resize_short_and_center_crop(375, 500, 200, 224, 224), bale::Error);
  CHECK_THROWS_AS(bale::resize_short_and_center_crop(375, 500, 256, 0, 224), bale::Error);
  CHECK_THROWS_AS(bale::resize_short_and_center_crop(0, 500, 256, 224, 224), bale::Error);
  CHECK_THROWS_AS(bale::resize_short_and_center_crop(10'000'000, 1, 224, 224, 224), bale::Error);
}

TEST_CASE("Sizes that contradict each other are refused") {
  const Pixels source(40, 30, 0, 1);
  const bale::PixelView whole = source.part({0, 0, 40, 30});
  PixelBytes out(20 * 10 * 3);
  bale::Resizer resizer;
  const ResizeSpec good = bale::resize_whole(40, 30, 20, 10);
  const auto refuses = [&](const ResizeSpec& spec, const bale::PixelView& view, std::size_t stride) {
    try {
      resizer.run(spec, view, out.data(), stride);
    } catch (const bale::Error& error) {
      return error.code() == bale::ErrorCode::invalid_argument;
    }
    return false;
  };
  CHECK_FALSE(refuses(good, whole, 60));
  CHECK(refuses(good, whole, 59));
  CHECK(refuses(good, source.part({0, 0, 39, 30}), 60));
  CHECK(refuses(good, source.part({0, 0, 40, 29}), 60));
  CHECK(refuses(good, {whole.rgb, 119, 40, 30}, 60));
  CHECK(refuses(good, {nullptr, 120, 40, 30}, 60));
  const Region bad_windows[] = {{0, 0, 0, 10},  {0, 0, 20, 0},          {1, 0, 20, 10},         {0, 1, 20, 10},
                                {20, 0, 1, 10}, {0xFFFFFFFF, 0, 2, 10}, {0, 0xFFFFFFFF, 20, 2}, {5, 0, 0xFFFFFFFF, 10}};
  for (const Region& window : bad_windows) {
    ResizeSpec spec = good;
    spec.window = window;
    CHECK(refuses(spec, whole, 60));
    CHECK_THROWS_AS(resize_needs(spec), bale::Error);
  }
  for (const auto side :
       {&ResizeSpec::source_width, &ResizeSpec::source_height, &ResizeSpec::width, &ResizeSpec::height}) {
    ResizeSpec spec = good;
    spec.*side = 0;
    CHECK(refuses(spec, whole, 60));
  }
  ResizeSpec huge = good;
  huge.source_width = huge.source_height = 0xFFFFFFFF;
  CHECK(refuses(huge, whole, 60));
}
