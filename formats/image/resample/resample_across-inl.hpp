// The pass over the columns. Included once per target by resample_kernels.cpp.
//
// A row is made in groups of as many pixels as four vectors hold at four lanes per pixel (red, green, blue, unused), or
// three vectors at three lanes. The last group overlaps the one before it. The table has everything that a group needs,
// in the order of use: for every vector and quad of taps the parts of the weights, per lane.
#if defined(BALE_RESAMPLE_ACROSS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BALE_RESAMPLE_ACROSS_INL
#undef BALE_RESAMPLE_ACROSS_INL
#else
#define BALE_RESAMPLE_ACROSS_INL
#endif

#include "bale/formats/image/resample/resample_sums-inl.hpp"

BALE_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {

constexpr std::uint32_t k_blocks = k_vector_bytes / 16;
constexpr std::uint32_t k_group = 4 * k_blocks;
constexpr std::size_t k_max_table_lines = 1u << 16;  // 4 MiB; a larger table does not pay off
constexpr std::size_t k_overread = 64;

/// The table of a pass over the columns; borrows.
struct AcrossTable {
  const std::uint32_t* offsets;  // bytes into the row, one per pixel
  const std::uint8_t* weights;
  std::uint32_t num_groups;
  std::uint32_t num_quads;
  std::uint32_t width;
};

HWY_INLINE std::uint32_t group_start(std::uint32_t group, std::uint32_t width) {
  return HWY_MIN(group * k_group, width - k_group);
}

#if BALE_AVX3_DL
/// The pixel of a group that is in block `block` of vector `vector`.
constexpr std::uint32_t pixel_of(std::uint32_t vector, std::uint32_t block) { return vector * k_blocks + block; }
#else
constexpr std::uint32_t pixel_of(std::uint32_t vector, std::uint32_t block) { return 4 * block + vector; }
#endif

/// Loads 16 bytes from each of the offsets.
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const std::uint8_t* in, const std::uint32_t* offsets) {
  if constexpr (hn::MaxLanes(D()) == 16) {
    return hn::LoadU(d, in + offsets[0]);
  } else {
    const hn::Half<D> half;
    constexpr std::size_t k_half_blocks = hn::MaxLanes(D()) / 32;
    return hn::Combine(d, load_blocks(half, in, offsets + k_half_blocks), load_blocks(half, in, offsets));
  }
}

/// Stores the blocks of `v` 12 bytes apart. Overwrites four bytes after the last pixel.
template <class D>
HWY_INLINE void store_blocks(D d, hn::Vec<D> v, std::uint8_t* out) {
  if constexpr (hn::MaxLanes(D()) == 16) {
    hn::StoreU(v, d, out);
  } else {
    const hn::Half<D> half;
    store_blocks(half, hn::LowerHalf(half, v), out);
    store_blocks(half, hn::UpperHalf(half, v), out + hn::MaxLanes(D()) / 32 * 12);
  }
}

#if BALE_AVX3_DL
constexpr std::size_t k_store_overrun = 16;
#else
constexpr std::size_t k_store_overrun = 4;
#endif

/// From the twelve bytes of four pixels to lanes of red, green and blue.
HWY_ALIGN constexpr std::uint8_t k_quad_order[16] = {0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11, 0, 0, 0, 0};

/// How the quads of a vector of pixels are gathered: one load per block.
struct GatherBlocks {
  static constexpr std::uint32_t k_vectors = 4;         // of a group
  static constexpr std::uint32_t k_offsets = k_blocks;  // of a vector

  static HWY_INLINE V8 load(const std::uint8_t* in, const std::uint32_t* offsets, const std::uint8_t* /*parts*/) {
    return hn::TableLookupBytes(load_blocks(D8(), in, offsets), hn::LoadDup128(D8(), k_quad_order));
  }

  static HWY_INLINE void store(V8 v, std::uint8_t* out) {
#if BALE_AVX3_DL
    // Block b has pixels b, 4 + b, 8 + b, 12 + b.
    HWY_ALIGN static constexpr std::uint8_t k_order[64] = {
        0, 1, 2,  16, 17, 18, 32, 33, 34, 48, 49, 50, 4,  5,  6,  20, 21, 22, 36, 37, 38, 52, 53, 54,
        8, 9, 10, 24, 25, 26, 40, 41, 42, 56, 57, 58, 12, 13, 14, 28, 29, 30, 44, 45, 46, 60, 61, 62};
    const D8 d8;
    hn::StoreU(V8{_mm512_permutexvar_epi8(hn::Load(d8, k_order).raw, v.raw)}, d8, out);
#else
    HWY_ALIGN static constexpr std::uint8_t k_order[16] = {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0, 0, 0, 0};
    const D8 d8;
    store_blocks(d8, hn::TableLookupBytes(v, hn::LoadDup128(d8, k_order)), out);
#endif
  }
};

#if BALE_AVX3_DL
/// Or by one load and one permutation, if the pixels are close enough together. Lanes are the bytes of the result, in
/// their order. The fourth part, which the sums do not use, holds the indices.
struct GatherWindow {
  static constexpr std::uint32_t k_vectors = 3;
  static constexpr std::uint32_t k_offsets = 1;

  static HWY_INLINE V8 load(const std::uint8_t* in, const std::uint32_t* offsets, const std::uint8_t* parts) {
    const D8 d8;
    const V8 indices = hn::Load(d8, parts + 3 * k_vector_bytes);
    return V8{_mm512_permutexvar_epi8(indices.raw, hn::LoadU(d8, in + offsets[0]).raw)};
  }

  /// From the bytes of the three vectors, the last of them twice.
  static HWY_INLINE void store(V8 v, std::uint8_t* out) {
    HWY_ALIGN static constexpr std::uint8_t k_order[64] = {
        0,  1,  2,  3,  16, 17, 18, 19, 32, 33, 34, 35, 48, 49, 50, 51, 4,  5,  6,  7,  20, 21, 22, 23,
        36, 37, 38, 39, 52, 53, 54, 55, 8,  9,  10, 11, 24, 25, 26, 27, 40, 41, 42, 43, 56, 57, 58, 59};
    const D8 d8;
    hn::StoreU(V8{_mm512_permutexvar_epi8(hn::Load(d8, k_order).raw, v.raw)}, d8, out);
  }
};

/// Of the lanes of a group's three vectors: which of the vector's pixels each belongs to, and the indices of the quad
/// of its channel.
struct WindowLanes {
  alignas(64) std::uint32_t pixels[3][16];
  alignas(64) std::uint32_t channel_quads[3][16];
};

constexpr WindowLanes make_window_lanes() {
  WindowLanes lanes{};
  for (std::uint32_t i = 0; i < 48; ++i) {
    lanes.pixels[i / 16][i % 16] = i / 3 - i / 16 * 16 / 3;
    lanes.channel_quads[i / 16][i % 16] = 0x09060300 + i % 3 * 0x01010101;
  }
  return lanes;
}
constexpr WindowLanes k_window_lanes = make_window_lanes();

/// Fills the table for GatherWindow. False if a vector's pixels are too far apart for it.
HWY_INLINE bool fill_windows(const AxisFilter& filter, std::uint32_t num_groups, std::uint32_t num_quads,
                             std::uint32_t* offsets, std::uint8_t* weights) {
  constexpr std::uint32_t k_pixels = 6;  // of a vector, some of them in part
  for (std::uint32_t v = 0; v < num_groups * 3; ++v) {
    const std::uint32_t first_pixel = group_start(v / 3, filter.size()) + v % 3 * 16 / 3;
    const std::uint32_t ends[2] = {filter.first(first_pixel) * 3, filter.first(first_pixel + k_pixels - 1) * 3};
    const std::uint32_t low = HWY_MIN(ends[0], ends[1]);
    if (HWY_MAX(ends[0], ends[1]) - low + 12 > k_vector_bytes) return false;
    offsets[v] = low;
    const __m512i lanes = _mm512_load_si512(k_window_lanes.pixels[v % 3]);
    const __m512i channel_quads = _mm512_load_si512(k_window_lanes.channel_quads[v % 3]);
    for (std::uint32_t k = 0; k < num_quads; ++k) {
      alignas(64) std::uint32_t parts[k_parts][16];
      for (std::uint32_t i = 0; i < k_pixels; ++i) {
        std::uint32_t of_pixel[k_parts];
        split_weights(filter.weights(first_pixel + i) + 4 * k, of_pixel);
        of_pixel[3] = (filter.first(first_pixel + i) * 3 - low) * 0x01010101;
        for (int part = 0; part < k_parts; ++part) parts[part][i] = of_pixel[part];
      }
      std::uint8_t* const to = weights + (std::size_t{v} * num_quads + k) * k_parts * k_vector_bytes;
      for (int part = 0; part < k_parts; ++part) {
        __m512i line = _mm512_permutexvar_epi32(lanes, _mm512_load_si512(parts[part]));
        if (part == 3) line = _mm512_add_epi32(line, channel_quads);
        _mm512_store_si512(to + part * k_vector_bytes, line);
      }
    }
  }
  return true;
}
#endif

/// Fills offsets and weights in the order of use.
HWY_INLINE void fill_table(const AxisFilter& filter, std::uint32_t num_groups, std::uint32_t num_quads,
                           std::uint32_t* offsets, std::uint8_t* weights) {
  const hn::Full128<std::uint32_t> d32;
  const hn::Full128<std::uint8_t> d8;
  for (std::uint32_t vector = 0; vector < num_groups * 4; ++vector) {
    const std::uint32_t start = group_start(vector / 4, filter.size());
    for (std::uint32_t block = 0; block < k_blocks; ++block) {
      const std::uint32_t x = start + pixel_of(vector % 4, block);
      offsets[vector * k_blocks + block] = filter.first(x) * 3;
      for (std::uint32_t k = 0; k < num_quads; ++k) {
        std::uint32_t parts[k_parts];
        split_weights(filter.weights(x) + 4 * k, parts);
        std::uint8_t* to = weights + (vector * num_quads + k) * k_parts * k_vector_bytes + block * 16;
        for (int part = 0; part < k_parts; ++part) {
          hn::Store(hn::BitCast(d8, hn::Set(d32, parts[part])), d8, to + part * k_vector_bytes);
        }
      }
    }
  }
}

/// The sums of one vector of a group, of `k_rows` rows: what the table has for it is loaded once.
template <class Gather, std::size_t k_rows>
HWY_INLINE void across_vector(const AcrossTable& table, std::uint32_t num_quads, std::uint32_t vector,
                              const std::uint8_t* in, std::size_t in_stride, V32 (&totals)[k_rows]) {
  const std::uint32_t* const offsets = table.offsets + vector * Gather::k_offsets;
  const std::uint8_t* const weights = table.weights + std::size_t{vector} * num_quads * k_parts * k_vector_bytes;
  const auto part = [weights](std::uint32_t k, std::uint32_t i) {
    return hn::BitCast(D32(), hn::Load(D8(), weights + (k * k_parts + i) * k_vector_bytes));
  };
  const auto quads = [=](std::size_t row, std::uint32_t k) {
    const std::uint8_t* const parts = weights + k * k_parts * k_vector_bytes;
    return hn::BitCast(D32(), Gather::load(in + row * in_stride + 12 * k, offsets, parts));
  };
  if (num_quads == 1) {
    const V32 p[k_parts] = {part(0, 0), part(0, 1), part(0, 2), part(0, 3)};
    for (std::size_t row = 0; row < k_rows; ++row) totals[row] = total_of(quads(row, 0), p[0], p[1], p[2], p[3]);
    return;
  }
  Sums sums[k_rows];
  for (std::uint32_t k = 0; k < num_quads; ++k) {
    const V32 p[k_parts] = {part(k, 0), part(k, 1), part(k, 2), part(k, 3)};
    // GCC 12 at -O2 makes wrong code of the rolled loop for AVX-512 (with -fno-ivopts it does not).
#pragma GCC unroll 4
    for (std::size_t row = 0; row < k_rows; ++row) sums[row].add(quads(row, k), p[0], p[1], p[2], p[3]);
  }
  for (std::size_t row = 0; row < k_rows; ++row) totals[row] = sums[row].total();
}

/// The pixels of one group. Two vectors are rounded before the next two: that leaves registers.
template <class Gather, std::size_t k_rows>
HWY_INLINE void across_group(const AcrossTable& table, std::uint32_t num_quads, std::uint32_t group,
                             const std::uint8_t* in, std::size_t in_stride, V8 (&pixels)[k_rows]) {
  const std::uint32_t first = group * Gather::k_vectors;
  V16 words[2][k_rows];
#pragma GCC unroll 2
  for (std::uint32_t pair = 0; pair < 2; ++pair) {
    V32 totals[2][k_rows];
    const bool has_both = 2 * pair + 1 < Gather::k_vectors;
    across_vector<Gather>(table, num_quads, first + 2 * pair, in, in_stride, totals[0]);
    if (has_both) across_vector<Gather>(table, num_quads, first + 2 * pair + 1, in, in_stride, totals[1]);
    for (std::size_t row = 0; row < k_rows; ++row) {
      words[pair][row] = round_totals(totals[0][row], totals[has_both ? 1 : 0][row]);
    }
  }
  for (std::size_t row = 0; row < k_rows; ++row) pixels[row] = pack_blocks(words[0][row], words[1][row]);
}

/// Where rows are read and written.
struct AcrossRows {
  const std::uint8_t* in = nullptr;
  std::size_t in_stride = 0;
  std::uint8_t* out = nullptr;
  std::size_t out_stride = 0;
};

template <class Gather, std::size_t k_rows>
HWY_INLINE void across_next_rows(const AcrossTable& table, std::uint32_t num_quads, const AcrossRows& rows) {
  for (std::uint32_t group = 0; group < table.num_groups; ++group) {
    const std::uint32_t x = group_start(group, table.width);
    V8 pixels[k_rows];
    across_group<Gather, k_rows>(table, num_quads, group, rows.in, rows.in_stride, pixels);
    const bool has_room = std::size_t{x + k_group} * 3 + k_store_overrun <= std::size_t{table.width} * 3;
    for (std::size_t row = 0; row < k_rows; ++row) {
      std::uint8_t* const to = rows.out + row * rows.out_stride + std::size_t{x} * 3;
      if (has_room) {
        Gather::store(pixels[row], to);
      } else {
        std::uint8_t rest[k_group * 3 + k_store_overrun];
        Gather::store(pixels[row], rest);
        std::memcpy(to, rest, k_group * 3);
      }
    }
  }
}

/// Takes `k_rows` rows at a time as long as there are as many; `k_quads` of 0 is any number.
template <class Gather, std::uint32_t k_quads, std::size_t k_rows>
HWY_INLINE void take_rows(const AcrossTable& table, std::uint32_t& num_rows, AcrossRows& rows) {
  for (; num_rows >= k_rows; num_rows -= k_rows) {
    across_next_rows<Gather, k_rows>(table, k_quads == 0 ? table.num_quads : k_quads, rows);
    rows.in += k_rows * rows.in_stride;
    rows.out += k_rows * rows.out_stride;
  }
}

template <class Gather>
HWY_INLINE void across_rows(const AcrossTable& table, std::uint32_t num_rows, AcrossRows rows) {
  // Few quads are the common case: without the loop over them, two rows keep sixteen registers busy.
  constexpr std::size_t k_rows = HWY_ARCH_X86 && HWY_MAX_BYTES < 64 ? 2 : 4;
  if (table.num_quads == 1) {
    take_rows<Gather, 1, k_rows>(table, num_rows, rows);
  } else if (table.num_quads == 2) {
    take_rows<Gather, 2, k_rows>(table, num_rows, rows);
  } else {
    take_rows<Gather, 0, k_rows>(table, num_rows, rows);
  }
  take_rows<Gather, 0, 1>(table, num_rows, rows);
}

void across(const PixelView& in, const AxisFilter& filter, const RowsOut& out, ResampleScratch& scratch) {
  const std::uint32_t num_quads = filter.taps_stride() / 4;
  if (filter.size() < k_group || std::size_t{filter.size()} * num_quads > k_max_table_lines ||
      !high_parts_fit(filter)) {
    return resample_across_plain(in, filter, out);
  }
  const std::uint32_t num_groups = (filter.size() + k_group - 1) / k_group;
  reserve_table(num_groups * k_group, num_quads, scratch);
  std::uint32_t* offsets = scratch.offsets.data();
  std::uint8_t* weights = scratch.table.front().bytes;
  const std::uint32_t largest = HWY_MAX(filter.first(0), filter.first(filter.size() - 1)) * 3;
  const AcrossTable table{offsets, weights, num_groups, num_quads, filter.size()};
  const RowSplit split = split_rows(in, largest + std::size_t{12} * num_quads + k_overread, scratch);
  const AcrossRows direct{in.rgb, in.stride, out.rgb, out.stride};
  const AcrossRows copied{split.copied, split.copied_stride, out.rgb + split.num_direct * out.stride, out.stride};
  const std::uint32_t num_copied = in.height - split.num_direct;
#if BALE_AVX3_DL
  if (fill_windows(filter, num_groups, num_quads, offsets, weights)) {
    across_rows<GatherWindow>(table, split.num_direct, direct);
    across_rows<GatherWindow>(table, num_copied, copied);
    return;
  }
#endif
  fill_table(filter, num_groups, num_quads, offsets, weights);
  across_rows<GatherBlocks>(table, split.num_direct, direct);
  across_rows<GatherBlocks>(table, num_copied, copied);
}

}  // namespace bale::image_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
