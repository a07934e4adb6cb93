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

/// Four rows and their weights.
struct RowQuad {
  const std::uint8_t* rows[4];
  std::uint32_t parts[k_parts];
};

constexpr std::uint32_t k_max_row_quads = 64;

/// A vector of bytes from column `x` on.
HWY_INLINE V8 down_at(const RowQuad* quads, std::uint32_t num_quads, std::size_t x) {
  const D8 d8;
  const D16 d16;
  const D32 d32;
  Sums sums[4];
  V32 totals[4];
  for (std::uint32_t k = 0; k < num_quads; ++k) {
    const RowQuad& quad = quads[k];
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
      if (num_quads == 1) {
        totals[i] = total_of(in_turn[i], p0, p1, p2, p3);
      } else {
        sums[i].add(in_turn[i], p0, p1, p2, p3);
      }
    }
  }
  for (std::size_t i = 0; i < 4 && num_quads > 1; ++i) totals[i] = sums[i].total();
  return round_to_bytes(totals[0], totals[1], totals[2], totals[3]);
}

/// One row of the result. The last vector overlaps the one before it, so nothing after the row is accessed.
HWY_INLINE void down_row(const RowQuad* quads, std::uint32_t num_quads, std::size_t row_bytes, std::uint8_t* out) {
  const D8 d8;
  std::size_t x = 0;
  for (; x + k_vector_bytes < row_bytes; x += k_vector_bytes) hn::StoreU(down_at(quads, num_quads, x), d8, out + x);
  x = row_bytes - k_vector_bytes;
  hn::StoreU(down_at(quads, num_quads, x), d8, out + x);
}

void down(const PixelView& in, const AxisFilter& filter, const RowsOut& out) {
  const std::size_t row_bytes = std::size_t{in.width} * in.pixel_bytes;
  if (row_bytes < k_vector_bytes || filter.taps_stride() > 4 * k_max_row_quads || !high_parts_fit(filter)) {
    return resample_down_plain(in, filter, out);
  }
  RowQuad quads[k_max_row_quads];
  for (std::uint32_t y = 0; y < filter.size(); ++y) {
    const std::uint32_t num_quads = (filter.num_taps(y) + 3) / 4;
    for (std::uint32_t k = 0; k < num_quads; ++k) {
      split_weights(filter.weights(y) + 4 * k, quads[k].parts);
      for (std::uint32_t i = 0; i < 4; ++i) {
        // After the last tap the weight is 0, so any row is correct.
        const std::uint32_t row = HWY_MIN(filter.first(y) + 4 * k + i, in.height - 1);
        quads[k].rows[i] = in.rgb + row * in.stride;
      }
    }
    std::uint8_t* to = out.rgb + y * out.stride;
    if (num_quads == 1) {
      down_row(quads, 1, row_bytes, to);  // the common case: removes the loop over quads
    } else {
      down_row(quads, num_quads, row_bytes, to);
    }
  }
}

}  // namespace bale::image_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
