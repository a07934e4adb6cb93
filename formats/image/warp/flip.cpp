#include "bale/formats/image/warp/warp.hpp"

#include <algorithm>

#include "bale/formats/image/simd/kernel_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bale/formats/image/warp/flip.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bale::image_detail {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Writes `count` RGB pixels in reverse order.
void reverse_rgb(const std::uint8_t* rgb, std::size_t count, std::uint8_t* out) {
  std::size_t done = 0;
#if HWY_TARGET != HWY_SCALAR
  // Five pixels at a time. The first of the 16 bytes that are read belongs to the pixel before them; the last of those
  // that are written is overwritten by what follows.
  HWY_ALIGN static constexpr std::uint8_t k_order[16] = {13, 14, 15, 10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2, 3, 0};
  const hn::CappedTag<std::uint8_t, 16> bytes;
  const auto order = hn::Load(bytes, k_order);
  for (; done + 6 <= count; done += 5) {
    const std::uint8_t* from = rgb + (count - done - 5) * 3 - 1;
    hn::StoreU(hn::TableLookupBytes(hn::LoadU(bytes, from), order), bytes, out + done * 3);
  }
#endif
  for (; done < count; ++done) {
    const std::uint8_t* from = rgb + (count - done - 1) * 3;
    for (std::size_t channel = 0; channel < 3; ++channel) out[done * 3 + channel] = from[channel];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace bale::image_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bale::image_detail {
namespace {

HWY_EXPORT(reverse_rgb);

void reverse(const std::uint8_t* pixels, std::size_t count, std::uint32_t channels, std::uint8_t* out) {
  if (channels == 3) {
    HWY_DYNAMIC_DISPATCH(reverse_rgb)(pixels, count, out);
  } else {
    std::reverse_copy(pixels, pixels + count, out);
  }
}

constexpr std::uint32_t k_tile = 16;  // what is read and written of a tile stays in the nearest cache

/// Calls copy(x, y) for each pixel of the source, tile by tile.
template <class Copy>
void for_each_tile(const Raster& source, const Copy& copy) {
  for (std::uint32_t top = 0; top < source.height; top += k_tile) {
    const std::uint32_t bottom = std::min(top + k_tile, source.height);
    for (std::uint32_t left = 0; left < source.width; left += k_tile) {
      const std::uint32_t right = std::min(left + k_tile, source.width);
      for (std::uint32_t x = left; x < right; ++x) {
        for (std::uint32_t y = top; y < bottom; ++y) copy(x, y);
      }
    }
  }
}

/// `place(x, y)` is the number of the output pixel.
template <std::uint32_t channels, class Place>
void transpose(const Raster& source, std::uint8_t* out, const Place& place) {
  for_each_tile(source, [&](std::uint32_t x, std::uint32_t y) {
    const std::uint8_t* from = source.pixels + (std::size_t{y} * source.width + x) * channels;
    std::uint8_t* to = out + place(x, y) * channels;
    for (std::uint32_t channel = 0; channel < channels; ++channel) to[channel] = from[channel];
  });
}

template <class Place>
void transpose_any(const Raster& source, std::uint8_t* out, const Place& place) {
  source.channels == 3 ? transpose<3>(source, out, place) : transpose<1>(source, out, place);
}

}  // namespace

void flip_across(const Raster& source, std::uint8_t* out) {
  for (std::uint32_t y = 0; y < source.height; ++y) {
    reverse(source.pixels + y * source.stride(), source.width, source.channels, out + y * source.stride());
  }
}

void flip_down(std::uint8_t* pixels, std::size_t stride, std::uint32_t height) {
  for (std::uint32_t y = 0; y < height / 2; ++y) {
    std::uint8_t* upper = pixels + y * stride;
    std::swap_ranges(upper, upper + stride, pixels + (height - 1 - y) * stride);
  }
}

void rotate_180(const Raster& source, std::uint8_t* out) {
  reverse(source.pixels, std::size_t{source.width} * source.height, source.channels, out);
}

void rotate_90(const Raster& source, std::uint8_t* out) {
  transpose_any(source, out, [&](std::uint32_t x, std::uint32_t y) {
    return std::size_t{source.width - 1 - x} * source.height + y;
  });
}

void rotate_270(const Raster& source, std::uint8_t* out) {
  transpose_any(source, out, [&](std::uint32_t x, std::uint32_t y) {
    return std::size_t{x} * source.height + (source.height - 1 - y);
  });
}

}  // namespace bale::image_detail
#endif
