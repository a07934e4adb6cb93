// Bilinear and bicubic sampling are Pillow's sums of doubles in the same order, with the channels of a pixel in the
// lanes of one vector. Built once per instruction set, without contraction of a * b + c.
#include "bale/formats/image/warp/warp.hpp"

#include <algorithm>

#include "bale/formats/image/simd/kernel_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bale/formats/image/warp/warp.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bale::image_detail {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR && HWY_MAX_BYTES >= 32

/// The four channels of a pixel in double.
class Channels {
 public:
  using Doubles = hn::CappedTag<double, 4>;
  using Ints = hn::Rebind<std::int32_t, Doubles>;
  using Bytes = hn::Rebind<std::uint8_t, Doubles>;

  explicit Channels(const std::uint32_t* pixel) {
    const auto bytes = hn::LoadU(Bytes(), reinterpret_cast<const std::uint8_t*>(pixel));
    value_ = hn::PromoteTo(Doubles(), hn::PromoteTo(Ints(), bytes));
  }

  /// Truncates to bytes, with what is outside of [0, 255] at its ends.
  void store(std::uint32_t* pixel) const {
    const auto whole = hn::DemoteTo(Ints(), value_);
    hn::StoreU(hn::DemoteTo(Bytes(), whole), Bytes(), reinterpret_cast<std::uint8_t*>(pixel));
  }

  Channels operator+(const Channels& other) const { return Channels(hn::Add(value_, other.value_)); }
  Channels operator-(const Channels& other) const { return Channels(hn::Sub(value_, other.value_)); }
  Channels operator*(double factor) const { return Channels(hn::Mul(value_, hn::Set(Doubles(), factor))); }

 private:
  explicit Channels(hn::Vec<Doubles> value) : value_(value) {}

  hn::Vec<Doubles> value_;
};

#else

class Channels {
 public:
  explicit Channels(const std::uint32_t* pixel) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(pixel);
    for (int i = 0; i < 3; ++i) value_[i] = bytes[i];
  }

  void store(std::uint32_t* pixel) const {
    auto* bytes = reinterpret_cast<std::uint8_t*>(pixel);
    for (int i = 0; i < 3; ++i) bytes[i] = static_cast<std::uint8_t>(std::clamp(static_cast<int>(value_[i]), 0, 255));
  }

  Channels operator+(Channels other) const {
    for (int i = 0; i < 3; ++i) other.value_[i] = value_[i] + other.value_[i];
    return other;
  }
  Channels operator-(Channels other) const {
    for (int i = 0; i < 3; ++i) other.value_[i] = value_[i] - other.value_[i];
    return other;
  }
  Channels operator*(double factor) const {
    Channels product = *this;
    for (int i = 0; i < 3; ++i) product.value_[i] *= factor;
    return product;
  }

 private:
  double value_[3];
};

#endif

struct Source {
  const std::uint32_t* pixels;
  std::int32_t width;
  std::int32_t height;

  const std::uint32_t* row(std::int32_t y) const {
    return pixels + static_cast<std::ptrdiff_t>(std::clamp(y, 0, height - 1)) * width;
  }
  std::int32_t column(std::int32_t x) const { return std::clamp(x, 0, width - 1); }
  bool holds(double x, double y) const { return x >= 0 && x < width && y >= 0 && y < height; }
};

/// A position as its whole part and the rest.
struct Position {
  explicit Position(double at) : whole(static_cast<std::int32_t>(at) - (at < 0 ? 1 : 0)), part(at - whole) {}
  std::int32_t whole;  // from -1 on
  double part;
};

HWY_INLINE Channels lerp(const Channels& a, const Channels& b, double part) { return a + (b - a) * part; }

/// Pillow's BICUBIC, in its order.
HWY_INLINE Channels cubic(const Channels& v1, const Channels& v2, const Channels& v3, const Channels& v4, double part) {
  const Channels p2 = v3 - v1;
  const Channels p3 = (v1 - v2) * 2.0 + v3 - v4;
  const Channels p4 = v2 - v1 - v3 + v4;
  return v2 + (p2 + (p3 + p4 * part) * part) * part;
}

/// The neighbors of a position: bilinear sampling takes two in each direction, bicubic sampling four.
template <int k_taps>
struct Neighbors {
  static constexpr int k_before = k_taps / 2 - 1;  // taps before the position's own pixel

  Neighbors(const Source& source, std::int32_t x, std::int32_t y) {
    for (int i = 0; i < k_taps; ++i) {
      rows[i] = source.row(y - k_before + i);
      columns[i] = source.column(x - k_before + i);
    }
  }
  Channels at(int row, int column) const { return Channels(rows[row] + columns[column]); }

  const std::uint32_t* rows[k_taps];
  std::int32_t columns[k_taps];
};

/// All of them in the image.
template <int k_taps>
struct InnerNeighbors {
  static constexpr int k_before = Neighbors<k_taps>::k_before;

  InnerNeighbors(const Source& source, std::int32_t x, std::int32_t y)
      : first(source.pixels + static_cast<std::ptrdiff_t>(y - k_before) * source.width + (x - k_before)),
        width(source.width) {}
  /// Whether a position is so far from the edges; `x` and `y` count from the middle of the first pixel.
  static bool hold(const Source& source, double x, double y) {
    return x >= k_before && x < source.width - 1 - k_before && y >= k_before && y < source.height - 1 - k_before;
  }
  Channels at(int row, int column) const { return Channels(first + row * std::ptrdiff_t{width} + column); }

  const std::uint32_t* first;
  std::int32_t width;
};

template <int k_taps, class Taken>
HWY_INLINE void mix(const Taken& from, double x, double y, std::uint32_t* out) {
  if constexpr (k_taps == 2) {
    lerp(lerp(from.at(0, 0), from.at(0, 1), x), lerp(from.at(1, 0), from.at(1, 1), x), y).store(out);
  } else {
    const auto across = [&](int row) HWY_ATTR {
      return cubic(from.at(row, 0), from.at(row, 1), from.at(row, 2), from.at(row, 3), x);
    };
    cubic(across(0), across(1), across(2), across(3), y).store(out);
  }
}

/// The pixels of one output row, from positions x, y side by side. Pixels outside keep what `out` holds.
template <int k_taps>
void sample_row(const Source& source, const double* xs, const double* ys, std::uint32_t count, std::uint32_t* out) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const double x_at = xs[i] - 0.5;
    const double y_at = ys[i] - 0.5;
    if (InnerNeighbors<k_taps>::hold(source, x_at, y_at)) {
      const auto x = static_cast<std::int32_t>(x_at);
      const auto y = static_cast<std::int32_t>(y_at);
      mix<k_taps>(InnerNeighbors<k_taps>(source, x, y), x_at - x, y_at - y, out + i);
    } else if (source.holds(xs[i], ys[i])) {
      const Position x(x_at);
      const Position y(y_at);
      mix<k_taps>(Neighbors<k_taps>(source, x.whole, y.whole), x.part, y.part, out + i);
    }
  }
}

void affine_positions(const double* m, double y, std::uint32_t count, double* xs, double* ys) {
  const double x_part = m[1] * y;
  const double y_part = m[4] * y;
  for (std::uint32_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(static_cast<std::int32_t>(i)) + 0.5;
    xs[i] = m[0] * x + x_part + m[2];
    ys[i] = m[3] * x + y_part + m[5];
  }
}

void perspective_positions(const double* m, double y, std::uint32_t count, double* xs, double* ys) {
  const double x_part = m[1] * y;
  const double y_part = m[4] * y;
  const double divisor_part = m[7] * y;
  for (std::uint32_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(static_cast<std::int32_t>(i)) + 0.5;
    const double divisor = m[6] * x + divisor_part + 1;
    xs[i] = (m[0] * x + x_part + m[2]) / divisor;
    ys[i] = (m[3] * x + y_part + m[5]) / divisor;
  }
}

#if HWY_TARGET != HWY_SCALAR
const hn::ScalableTag<std::uint8_t> k_bytes;
#endif

void to_words(const std::uint8_t* rgb, std::size_t count, std::uint32_t* words) {
  auto* out = reinterpret_cast<std::uint8_t*>(words);
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const std::size_t step = hn::Lanes(k_bytes);
  for (; i + step <= count; i += step) {
    hn::Vec<decltype(k_bytes)> red, green, blue;
    hn::LoadInterleaved3(k_bytes, rgb + i * 3, red, green, blue);
    hn::StoreInterleaved4(red, green, blue, hn::Zero(k_bytes), k_bytes, out + i * 4);
  }
#endif
  for (; i < count; ++i) {
    for (std::size_t channel = 0; channel < 3; ++channel) out[i * 4 + channel] = rgb[i * 3 + channel];
    out[i * 4 + 3] = 0;
  }
}

void from_words(const std::uint32_t* words, std::size_t count, std::uint8_t* rgb) {
  const auto* in = reinterpret_cast<const std::uint8_t*>(words);
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const std::size_t step = hn::Lanes(k_bytes);
  for (; i + step <= count; i += step) {
    hn::Vec<decltype(k_bytes)> red, green, blue, unused;
    hn::LoadInterleaved4(k_bytes, in + i * 4, red, green, blue, unused);
    hn::StoreInterleaved3(red, green, blue, k_bytes, rgb + i * 3);
  }
#endif
  for (; i < count; ++i) {
    for (std::size_t channel = 0; channel < 3; ++channel) rgb[i * 3 + channel] = in[i * 4 + channel];
  }
}

}  // namespace

void warp_rgb(const Raster& raster, std::uint32_t* source_words, const double* map, bool perspective, bool bicubic,
              std::uint32_t fill, const RasterOut& out, std::uint32_t* row, double* positions) {
  to_words(raster.pixels, std::size_t{raster.width} * raster.height, source_words);
  const Source source{source_words, static_cast<std::int32_t>(raster.width), static_cast<std::int32_t>(raster.height)};
  double* xs = positions;
  double* ys = positions + out.width;
  for (std::uint32_t y = 0; y < out.height; ++y) {
    perspective ? perspective_positions(map, y + 0.5, out.width, xs, ys)
                : affine_positions(map, y + 0.5, out.width, xs, ys);
    std::fill_n(row, out.width, fill);
    bicubic ? sample_row<4>(source, xs, ys, out.width, row) : sample_row<2>(source, xs, ys, out.width, row);
    from_words(row, out.width, out.pixels + std::size_t{y} * out.width * 3);
  }
}

/// To the nearest pixel, without a copy of the source in words.
template <std::uint32_t channels>
void perspective_nearest(const Raster& source, const double* map, const Fill& fill, const RasterOut& out,
                         double* positions) {
  double* xs = positions;
  double* ys = positions + out.width;
  std::uint8_t* row = out.pixels;
  for (std::uint32_t y = 0; y < out.height; ++y, row += std::size_t{out.width} * channels) {
    perspective_positions(map, y + 0.5, out.width, xs, ys);
    for (std::uint32_t x = 0; x < out.width; ++x) {
      const bool inside = xs[x] >= 0 && xs[x] < source.width && ys[x] >= 0 && ys[x] < source.height;
      const std::uint8_t* from = fill.data();
      if (inside) {
        const auto line = static_cast<std::size_t>(static_cast<std::int32_t>(ys[x]));
        const auto column = static_cast<std::size_t>(static_cast<std::int32_t>(xs[x]));
        from = source.pixels + (line * source.width + column) * channels;
      }
      for (std::uint32_t channel = 0; channel < channels; ++channel) row[x * channels + channel] = from[channel];
    }
  }
}

void warp_nearest_perspective(const Raster& source, const double* map, const Fill& fill, const RasterOut& out,
                              double* positions) {
  source.channels == 3 ? perspective_nearest<3>(source, map, fill, out, positions)
                       : perspective_nearest<1>(source, map, fill, out, positions);
}

}  // namespace HWY_NAMESPACE
}  // namespace bale::image_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cstring>

namespace bale::image_detail {
namespace {

HWY_EXPORT(warp_rgb);
HWY_EXPORT(warp_nearest_perspective);

template <class T>
T* room(std::vector<T>& memory, std::size_t size) {
  if (memory.size() < size) memory.resize(size);
  return memory.data();
}

std::uint32_t as_word(const Fill& fill) {
  const std::uint8_t bytes[4] = {fill[0], fill[1], fill[2], 0};
  std::uint32_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

}  // namespace

void Warper::affine(const Raster& source, const std::array<double, 6>& matrix, Sampling sampling, const Fill& fill,
                    const RasterOut& out) {
  if (sampling == Sampling::nearest || source.channels == 1) return warp_nearest(source, matrix, fill, out);
  HWY_DYNAMIC_DISPATCH(warp_rgb)
  (source, room(source_, std::size_t{source.width} * source.height), matrix.data(), false,
   sampling == Sampling::bicubic, as_word(fill), out, room(row_, out.width),
   room(positions_, std::size_t{out.width} * 2));
}

void Warper::perspective(const Raster& source, const std::array<double, 8>& coefficients, Sampling sampling,
                         const Fill& fill, const RasterOut& out) {
  double* positions = room(positions_, std::size_t{out.width} * 2);
  if (source.channels == 1 || sampling == Sampling::nearest) {
    HWY_DYNAMIC_DISPATCH(warp_nearest_perspective)(source, coefficients.data(), fill, out, positions);
    return;
  }
  HWY_DYNAMIC_DISPATCH(warp_rgb)
  (source, room(source_, std::size_t{source.width} * source.height), coefficients.data(), true,
   sampling == Sampling::bicubic, as_word(fill), out, room(row_, out.width), positions);
}

}  // namespace bale::image_detail
#endif
