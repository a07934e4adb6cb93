// The bodies of the kernels that crop, resize and mirror decoded images, in the arithmetic of the workers: weights in
// double, sums in 22-bit fixed point, each of the two passes rounded to 8 bits. The same decoded pixels give the same
// bits.
//
// bale_resize_weights fills the table of weights, a thread per entry; bale_resize makes the pixels, a thread per pixel.
// A thread computes what the first pass gives for each tap of the second one itself, so no memory is needed between
// the passes. Also compiled for the host, where tests run it.
#pragma once

#include <cstdint>

#include "bale/formats/image/resample/resample_weights.hpp"
#include "bale/loader/cuda/kernels/kernel_args.hpp"

#if defined(__CUDA__)
#define BALE_ON_DEVICE __attribute__((device))
#else
#define BALE_ON_DEVICE
#endif

namespace bale::cuda_detail {

/// An entry of the table.
struct Taps {
  std::uint32_t first;
  std::uint32_t count;
  const std::int32_t* weights;
};

BALE_ON_DEVICE inline Taps taps_at(const ResizeArgs& args, const ResizeAxis& axis, std::uint32_t position) {
  const std::int32_t* const entry = args.table + axis.table + std::uint64_t{position} * axis.entry_words;
  return {static_cast<std::uint32_t>(entry[0]), static_cast<std::uint32_t>(entry[1]), entry + 2};
}

/// Fills the entry of one position of an axis, as AxisFilter::assign() does.
template <class Kernel>
BALE_ON_DEVICE inline void weigh_position(const ResizeAxis& axis, std::uint32_t size, std::uint32_t position,
                                          std::int32_t* table) {
  std::int32_t* const entry = table + axis.table + std::uint64_t{position} * axis.entry_words;
  const std::uint32_t at = axis.first + (axis.mirrored != 0 ? size - 1 - position : position);
  if (axis.input == axis.output) {
    entry[0] = static_cast<std::int32_t>(axis.origin + at);
    entry[1] = 1;
    entry[2] = 1 << image_detail::k_fraction_bits;
    return;
  }
  const image_detail::AxisGrid grid(axis.input, axis.output, Kernel::k_support);
  const double center = grid.center(at);
  const image_detail::AxisSpan taps = grid.taps(center);
  double sum = 0;
  for (std::uint32_t tap = taps.first; tap < taps.end; ++tap) sum += grid.raw_weight<Kernel>(tap, center);
  entry[0] = static_cast<std::int32_t>(axis.origin + taps.first);
  entry[1] = static_cast<std::int32_t>(taps.end - taps.first);
  for (std::uint32_t tap = taps.first; tap < taps.end; ++tap) {
    const double weight = grid.raw_weight<Kernel>(tap, center);
    entry[2 + tap - taps.first] = image_detail::to_fixed(sum != 0.0 ? weight / sum : weight);
  }
}

/// Fills entry `entry` of an image: of the columns, then of the rows.
BALE_ON_DEVICE inline void weigh_entry(const ResizeArgs& args, std::uint32_t image, std::uint32_t entry) {
  const ResizeRow& row = args.rows[image];
  if (row.pitch == 0) return;
  const bool across = entry < args.width;
  const ResizeAxis& axis = across ? row.across : row.down;
  const std::uint32_t size = across ? args.width : args.height;
  const std::uint32_t position = across ? entry : entry - args.width;
  if (row.cubic != 0) {
    weigh_position<image_detail::Cubic>(axis, size, position, args.table);
  } else {
    weigh_position<image_detail::Triangle>(axis, size, position, args.table);
  }
}

/// Makes one pixel of an image.
BALE_ON_DEVICE inline void resize_pixel(const ResizeArgs& args, std::uint32_t image, std::uint32_t pixel) {
  const ResizeRow& row = args.rows[image];
  if (row.pitch == 0) return;
  const std::uint32_t y = pixel / args.width;
  const Taps across = taps_at(args, row.across, pixel - y * args.width);
  const Taps down = taps_at(args, row.down, y);
  const bool down_first = row.down_first != 0;
  const Taps& inner = down_first ? down : across;
  const Taps& outer = down_first ? across : down;
  const std::uint64_t inner_step = down_first ? row.pitch : 3;
  const std::uint64_t outer_step = down_first ? 3 : row.pitch;
  const std::uint8_t* from = args.decoded + row.decoded + std::uint64_t{down.first} * row.pitch + across.first * 3ULL;
  std::int32_t sums[3] = {image_detail::k_half, image_detail::k_half, image_detail::k_half};
  for (std::uint32_t i = 0; i < outer.count; ++i, from += outer_step) {
    std::int32_t between[3] = {image_detail::k_half, image_detail::k_half, image_detail::k_half};
    const std::uint8_t* at = from;
    for (std::uint32_t j = 0; j < inner.count; ++j, at += inner_step) {
      for (int c = 0; c < 3; ++c) between[c] += at[c] * inner.weights[j];
    }
    for (int c = 0; c < 3; ++c) sums[c] += image_detail::round_to_byte(between[c]) * outer.weights[i];
  }
  std::uint8_t* const to = args.out + (std::uint64_t{image} * args.height * args.width + pixel) * 3;
  for (int c = 0; c < 3; ++c) to[c] = image_detail::round_to_byte(sums[c]);
}

/// A thread's share of a batch: in each of its images, every `step`-th item from `first` on.
template <typename Work>
BALE_ON_DEVICE inline void for_each_item(std::uint32_t num_images, std::uint32_t num_items, std::uint32_t first,
                                         std::uint32_t step, std::uint32_t first_image, std::uint32_t image_step,
                                         const Work& work) {
  for (std::uint32_t image = first_image; image < num_images; image += image_step) {
    for (std::uint32_t item = first; item < num_items; item += step) work(image, item);
  }
}

}  // namespace bale::cuda_detail
