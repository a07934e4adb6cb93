// The pass over the rows. Included once per target by resample_kernels.cpp.
#if defined(BALE_RESAMPLE_DOWN_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BALE_RESAMPLE_DOWN_INL
#undef BALE_RESAMPLE_DOWN_INL
#else
#define BALE_RESAMPLE_DOWN_INL
#endif

#include "bale/formats/image/resample/resample_sums-inl.hpp"

BALE_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {

constexpr std::uint32_t k_max_row_taps = 256;

/// How many rows are summed at a time.
#if BALE_HALF_AND_BYTE
constexpr std::uint32_t k_rows_summed = 2;
#else
constexpr std::uint32_t k_rows_summed = 4;
#endif

/// These rows and the parts of their weights.
struct RowGroup {
  const std::uint8_t* rows[k_rows_summed];
  std::uint32_t parts[k_parts];
};

#if BALE_HALF_AND_BYTE

/// The halves of two rows, and their bytes twice.
HWY_INLINE void split_row_weights(const std::int32_t* weights, std::uint32_t* parts) {
  parts[0] = (static_cast<std::uint32_t>(weights[0]) & 0xFFFF) | static_cast<std::uint32_t>(weights[1]) << 16;
  parts[1] = (high_byte(weights[0]) | high_byte(weights[1]) << 8) * 0x00010001u;
}

/// Of pairs of bytes the even ones, or the odd ones, as pairs of 16 bits.
HWY_ALIGN constexpr std::uint8_t k_even_pairs[16] = {0, 128, 1, 128, 4, 128, 5, 128, 8, 128, 9, 128, 12, 128, 13, 128};
HWY_ALIGN constexpr std::uint8_t k_odd_pairs[16] = {2, 128, 3, 128, 6, 128, 7, 128, 10, 128, 11, 128, 14, 128, 15, 128};

/// A vector of bytes from column `x` on. The bytes' sums and the final ones are modulo 2^16, in which the latter fit.
HWY_INLINE V8 down_at(const RowGroup* groups, std::uint32_t num_groups, std::size_t x) {
  const D8 d8;
  const D16 d16;
  const D32 d32;
  const V8 even_pairs = hn::LoadDup128(d8, k_even_pairs);
  const V8 odd_pairs = hn::LoadDup128(d8, k_odd_pairs);
  V32 even[2] = {hn::Zero(d32), hn::Zero(d32)};
  V32 odd[2] = {hn::Zero(d32), hn::Zero(d32)};
  V16 high[2] = {hn::Zero(d16), hn::Zero(d16)};
  for (std::uint32_t k = 0; k < num_groups; ++k) {
    const V8 r0 = hn::LoadU(d8, groups[k].rows[0] + x);
    const V8 r1 = hn::LoadU(d8, groups[k].rows[1] + x);
    const V8 pairs[2] = {hn::InterleaveLower(d8, r0, r1), hn::InterleaveUpper(d8, r0, r1)};
    const V16 halves = hn::BitCast(d16, hn::Set(d32, static_cast<std::int32_t>(groups[k].parts[0])));
    const V32 bytes = hn::Set(d32, static_cast<std::int32_t>(groups[k].parts[1]));
    for (std::size_t i = 0; i < 2; ++i) {
      even[i] = hn::Add(even[i], dot_halves(hn::BitCast(d16, hn::TableLookupBytesOr0(pairs[i], even_pairs)), halves));
      odd[i] = hn::Add(odd[i], dot_halves(hn::BitCast(d16, hn::TableLookupBytesOr0(pairs[i], odd_pairs)), halves));
      high[i] = hn::Add(high[i], dot_bytes(hn::BitCast(d32, pairs[i]), bytes));
    }
  }
  V16 words[2];
  for (std::size_t i = 0; i < 2; ++i) {
    const V16 low = hn::OddEven(hn::BitCast(d16, odd[i]), hn::BitCast(d16, hn::ShiftRight<16>(even[i])));
    words[i] = round_words(hn::Add(high[i], low));
  }
  return pack_blocks(words[0], words[1]);
}

#else

HWY_INLINE void split_row_weights(const std::int32_t* weights, std::uint32_t* parts) { split_weights(weights, parts); }

/// A vector of bytes from column `x` on.
HWY_INLINE V8 down_at(const RowGroup* groups, std::uint32_t num_groups, std::size_t x) {
  const D8 d8;
  const D16 d16;
  const D32 d32;
  Sums sums[4];
  V32 totals[4];
  for (std::uint32_t k = 0; k < num_groups; ++k) {
    const RowGroup& quad = groups[k];
    const V8 r0 = hn::LoadU(d8, quad.rows[0] + x);
    const V8 r1 = hn::LoadU(d8, quad.rows[1] + x);
    const V8 r2 = hn::LoadU(d8, quad.rows[2] + x);
    const V8 r3 = hn::LoadU(d8, quad.rows[3] + x);
    const V16 low01 = hn::BitCast(d16, hn::InterleaveLower(d8, r0, r1));
    const V16 low23 = hn::BitCast(d16, hn::InterleaveLower(d8, r2, r3));
    const V16 high01 = hn::BitCast(d16, hn::InterleaveUpper(d8, r0, r1));
    const V16 high23 = hn::BitCast(d16, hn::InterleaveUpper(d8, r2, r3));
    const V32 p0 = hn::Set(d32, static_cast<std::int32_t>(quad.parts[0]));
    const V32 p1 = hn::Set(d32, static_cast<std::int32_t>(quad.parts[1]));
    const V32 p2 = hn::Set(d32, static_cast<std::int32_t>(quad.parts[2]));
    const V32 p3 = hn::Set(d32, static_cast<std::int32_t>(quad.parts[3]));
    const V32 in_turn[4] = {hn::BitCast(d32, hn::InterleaveLower(d16, low01, low23)),
                            hn::BitCast(d32, hn::InterleaveUpper(d16, low01, low23)),
                            hn::BitCast(d32, hn::InterleaveLower(d16, high01, high23)),
                            hn::BitCast(d32, hn::InterleaveUpper(d16, high01, high23))};
    for (std::size_t i = 0; i < 4; ++i) {
      if (num_groups == 1) {
        totals[i] = total_of(in_turn[i], p0, p1, p2, p3);
      } else {
        sums[i].add(in_turn[i], p0, p1, p2, p3);
      }
    }
  }
  for (std::size_t i = 0; i < 4 && num_groups > 1; ++i) totals[i] = sums[i].total();
  return pack_blocks(round_totals(totals[0], totals[1]), round_totals(totals[2], totals[3]));
}

#endif

/// One row of the result. The last vector overlaps the one before it, so nothing after the row is accessed.
HWY_INLINE void down_row(const RowGroup* groups, std::uint32_t num_groups, std::size_t row_bytes, std::uint8_t* out) {
  const D8 d8;
  for (std::size_t x = 0; x < row_bytes; x += k_vector_bytes) {
    const std::size_t at = HWY_MIN(x, row_bytes - k_vector_bytes);
    hn::StoreU(down_at(groups, num_groups, at), d8, out + at);
  }
}

void down(const PixelView& in, const AxisFilter& filter, const RowsOut& out) {
  const std::size_t row_bytes = std::size_t{in.width} * in.pixel_bytes;
  if (row_bytes < k_vector_bytes || filter.taps_stride() > k_max_row_taps || !high_parts_fit(filter)) {
    return resample_down_plain(in, filter, out);
  }
  RowGroup groups[k_max_row_taps / k_rows_summed];
  for (std::uint32_t y = 0; y < filter.size(); ++y) {
    const std::uint32_t num_groups = (filter.num_taps(y) + k_rows_summed - 1) / k_rows_summed;
    for (std::uint32_t k = 0; k < num_groups; ++k) {
      split_row_weights(filter.weights(y) + k_rows_summed * k, groups[k].parts);
      for (std::uint32_t i = 0; i < k_rows_summed; ++i) {
        // After the last tap the weight is 0, so any row is correct.
        const std::uint32_t row = HWY_MIN(filter.first(y) + k_rows_summed * k + i, in.height - 1);
        groups[k].rows[i] = in.rgb + row * in.stride;
      }
    }
    std::uint8_t* to = out.rgb + y * out.stride;
    if (num_groups == 1) {  // one and two are the common case: removes the loop over groups
      down_row(groups, 1, row_bytes, to);
    } else if (num_groups == 2) {
      down_row(groups, 2, row_bytes, to);
    } else {
      down_row(groups, num_groups, row_bytes, to);
    }
  }
}

}  // namespace bale::image_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
