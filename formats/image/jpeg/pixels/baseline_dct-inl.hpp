// The inverse DCT of several blocks at once, one per 16 bytes of a vector: each 16 bytes hold a row of one block.
// Blocks are stored as groups of such vectors, or in zigzag order if the target permutes a whole block quickly.
// Included once per target by baseline_kernels.cpp.
#if defined(BALE_BASELINE_DCT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BALE_BASELINE_DCT_INL
#undef BALE_BASELINE_DCT_INL
#else
#define BALE_BASELINE_DCT_INL
#endif

#include "bale/formats/image/simd/pack_blocks-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D64 = hn::CappedTag<std::int64_t, BALE_VECTOR_BYTES / sizeof(std::int64_t)>;
using DHalf8 = hn::Half<D8>;

constexpr std::size_t k_lanes16 = BALE_VECTOR_BYTES / 2;
constexpr std::uint32_t k_group_shift = BALE_VECTOR_BYTES == 64 ? 2 : BALE_VECTOR_BYTES == 32 ? 1 : 0;
// AVX3_DL is the only target with such vectors.
constexpr BlockOrder k_order = BALE_VECTOR_BYTES == 64 ? BlockOrder::zigzag : BlockOrder::natural;

/// Two vectors interleaved, to be multiplied by a pair of factors and added.
struct Pairs {
  HWY_INLINE Pairs(V16 a, V16 b) : low(hn::InterleaveLower(D16(), a, b)), high(hn::InterleaveUpper(D16(), a, b)) {}
  V16 low;
  V16 high;
};

struct Sum {
  V32 low;
  V32 high;
};

HWY_INLINE V16 factors(std::int32_t a, std::int32_t b) {
  const std::uint32_t both = (static_cast<std::uint32_t>(a) & 0xFFFF) | static_cast<std::uint32_t>(b) << 16;
  return hn::BitCast(D16(), hn::Set(D32(), static_cast<std::int32_t>(both)));
}

HWY_INLINE V32 multiply(V16 pairs, V16 by) {
#if HWY_ARCH_X86 && BALE_VECTOR_BYTES == 64
  return V32{_mm512_madd_epi16(pairs.raw, by.raw)};
#elif HWY_ARCH_X86 && BALE_VECTOR_BYTES == 32
  return V32{_mm256_madd_epi16(pairs.raw, by.raw)};
#elif HWY_ARCH_X86
  return V32{_mm_madd_epi16(pairs.raw, by.raw)};
#else
  V32 odd = hn::Zero(D32());
  const V32 even = hn::ReorderWidenMulAccumulate(D32(), pairs, by, hn::Zero(D32()), odd);
  return hn::RearrangeToOddPlusEven(even, odd);
#endif
}

HWY_INLINE Sum multiply(const Pairs& pairs, std::int32_t a, std::int32_t b) {
  const V16 by = factors(a, b);
  return {multiply(pairs.low, by), multiply(pairs.high, by)};
}

HWY_INLINE Sum add(const Sum& a, const Sum& b) { return {hn::Add(a.low, b.low), hn::Add(a.high, b.high)}; }
HWY_INLINE Sum subtract(const Sum& a, const Sum& b) { return {hn::Sub(a.low, b.low), hn::Sub(a.high, b.high)}; }

template <int k_shift>
HWY_INLINE V16 descale(const Sum& sum) {
  return pack_blocks(hn::ShiftRight<k_shift>(sum.low), hn::ShiftRight<k_shift>(sum.high));
}

/// What the rounding of the second pass, and the level shift after it, add to the first column.
constexpr std::int32_t k_row_bias =
    (1 << (k_second_shift - 1 - k_dct_bits)) + (k_center << (k_second_shift - k_dct_bits));
constexpr std::int32_t k_half_first = 1 << (k_first_shift - 1);
alignas(16) constexpr std::int32_t k_first_columns[4] = {k_half_first + (k_row_bias << k_first_shift), k_half_first,
                                                         k_half_first, k_half_first};

/// The first pass: transforms columns in place, from vectors of rows to vectors of rows. Adds k_row_bias to the first
/// column. If `k_inputs` is 4, rows 4 to 7 are zero and not read.
template <int k_inputs>
HWY_INLINE void transform_columns(V16 (&v)[8]) {
  constexpr bool k_all = k_inputs == 8;
  const Sum half{hn::LoadDup128(D32(), k_first_columns), hn::Set(D32(), k_half_first)};
  const V16 zero = hn::Zero(D16());
  const Pairs in04(v[0], k_all ? v[4] : zero);
  const Pairs in26(v[2], k_all ? v[6] : zero);
  const Sum sum = add(multiply(in04, 1 << k_dct_bits, 1 << k_dct_bits), half);
  const Sum difference = k_all ? add(multiply(in04, 1 << k_dct_bits, -(1 << k_dct_bits)), half) : sum;
  const Sum outer = multiply(in26, k_0_541 + k_0_765, k_0_541);
  const Sum inner = multiply(in26, k_0_541, k_0_541 - k_1_847);
  const Sum even[4] = {add(sum, outer), add(difference, inner), subtract(difference, inner), subtract(sum, outer)};
  const Pairs in13(v[1], v[3]);
  const Pairs in57(k_all ? v[5] : zero, k_all ? v[7] : zero);
  for (int i = 0; i < 4; ++i) {
    Sum odd = multiply(in13, k_odd[i][0], k_odd[i][1]);
    if (k_all) odd = add(odd, multiply(in57, k_odd[i][2], k_odd[i][3]));
    v[i] = descale<k_first_shift>(add(even[i], odd));
    v[7 - i] = descale<k_first_shift>(subtract(even[i], odd));
  }
}

/// Pairs of a row's elements, and what each of the even or odd half's four sums takes of them.
struct RowTerms {
  alignas(16) std::uint8_t pairs[16];
  alignas(16) std::int16_t factors[8];
};

constexpr RowTerms make_row_terms(std::uint8_t first, const std::int32_t (&of_first)[4],
                                  const std::int32_t (&of_second)[4]) {
  RowTerms terms{};
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::uint8_t byte = 0; byte < 2; ++byte) {
      terms.pairs[4 * i + byte] = static_cast<std::uint8_t>(2 * first + byte);
      terms.pairs[4 * i + 2 + byte] = static_cast<std::uint8_t>(2 * first + 4 + byte);
    }
    terms.factors[2 * i] = static_cast<std::int16_t>(of_first[i]);
    terms.factors[2 * i + 1] = static_cast<std::int16_t>(of_second[i]);
  }
  return terms;
}

constexpr std::int32_t k_one = 1 << k_dct_bits;
/// Of elements 0 and 2, 1 and 3, 4 and 6, 5 and 7.
constexpr RowTerms k_row_terms[4] = {
    make_row_terms(0, {k_one, k_one, k_one, k_one}, {k_0_541 + k_0_765, k_0_541, -k_0_541, -k_0_541 - k_0_765}),
    make_row_terms(1, {k_odd[0][0], k_odd[1][0], k_odd[2][0], k_odd[3][0]},
                   {k_odd[0][1], k_odd[1][1], k_odd[2][1], k_odd[3][1]}),
    make_row_terms(4, {k_one, -k_one, -k_one, k_one}, {k_0_541, k_0_541 - k_1_847, k_1_847 - k_0_541, -k_0_541}),
    make_row_terms(5, {k_odd[0][2], k_odd[1][2], k_odd[2][2], k_odd[3][2]},
                   {k_odd[0][3], k_odd[1][3], k_odd[2][3], k_odd[3][3]})};

HWY_INLINE V32 multiply_row(V16 row, const RowTerms& terms) {
  const V8 pairs = hn::TableLookupBytes(hn::BitCast(D8(), row), hn::LoadDup128(D8(), terms.pairs));
  return multiply(hn::BitCast(D16(), pairs), hn::LoadDup128(D16(), terms.factors));
}

/// The second pass, of a row of each block. The last four samples of the result are in the opposite order. If
/// `k_inputs` is 4, columns 4 to 7 are zero.
template <int k_inputs>
HWY_INLINE V16 transform_row(V16 row) {
  V32 even = multiply_row(row, k_row_terms[0]);
  V32 odd = multiply_row(row, k_row_terms[1]);
  if (k_inputs == 8) {
    even = hn::Add(even, multiply_row(row, k_row_terms[2]));
    odd = hn::Add(odd, multiply_row(row, k_row_terms[3]));
  }
  return pack_blocks(hn::ShiftRight<k_second_shift>(hn::Add(even, odd)),
                     hn::ShiftRight<k_second_shift>(hn::Sub(even, odd)));
}

/// Stores two rows of each block.
HWY_INLINE void store_two_rows(hn::Vec<D64> rows, std::uint8_t* to, std::size_t stride) {
#if BALE_VECTOR_BYTES == 64
  const V8 bytes =
      hn::BitCast(D8(), hn::Vec<D64>{_mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), rows.raw)});
#elif BALE_VECTOR_BYTES == 32
  const V8 bytes = hn::BitCast(D8(), hn::Vec<D64>{_mm256_permute4x64_epi64(rows.raw, 0xD8)});
#else
  const V8 bytes = hn::BitCast(D8(), rows);
#endif
  hn::StoreU(hn::LowerHalf(DHalf8(), bytes), DHalf8(), to);
  hn::StoreU(hn::UpperHalf(DHalf8(), bytes), DHalf8(), to + stride);
}

/// What has to be within limits. Values between the passes need no check: if one is above k_max_value, a sample is
/// above k_max_sample, because each is a weighted sum of the samples of its row.
struct Extremes {
  HWY_INLINE Extremes() : excess(hn::Zero(D16())), most(excess), least(excess) {}
  HWY_INLINE void add_sample(V16 sample) {
    most = hn::Max(most, sample);
    least = hn::Min(least, sample);
  }
  HWY_INLINE bool are_good() const {
    const D16 d16;
    return hn::AllFalse(d16, hn::Gt(excess, hn::Zero(d16))) &&
           hn::AllFalse(d16, hn::Gt(most, hn::Set(d16, k_center + k_max_sample))) &&
           hn::AllFalse(d16, hn::Lt(least, hn::Set(d16, k_center - k_max_sample)));
  }

  V16 excess;  // above zero if a coefficient was too large
  V16 most;    // of the samples
  V16 least;
};

alignas(16) constexpr std::uint8_t k_in_order[16] = {0, 1, 2, 3, 7, 6, 5, 4, 8, 9, 10, 11, 15, 14, 13, 12};

/// Transforms one group. If `k_inputs` is 4, only the first four rows and columns of its blocks are not zero.
template <std::size_t k_inputs>
HWY_INLINE void transform_group(V16 (&v)[8], const Quantizers& quantizers, Extremes& extremes, const SamplesOut& out,
                                std::uint8_t* to) {
  const D16 d16;
  for (std::size_t row = 0; row < k_inputs; ++row) {
    const V16 limit = hn::LoadDup128(d16, quantizers.limits.data() + row * 8);
    extremes.excess = hn::Max(extremes.excess, hn::Sub(hn::Abs(v[row]), limit));
    v[row] = hn::Mul(v[row], hn::LoadDup128(d16, quantizers.factors.data() + row * 8));
  }
  transform_columns<k_inputs>(v);
  for (std::size_t row = 0; row < 8; row += 2, to += 2 * out.stride) {
    const V16 upper = transform_row<k_inputs>(v[row]);
    const V16 lower = transform_row<k_inputs>(v[row + 1]);
    extremes.add_sample(upper);
    extremes.add_sample(lower);
    const V8 bytes = hn::TableLookupBytes(pack_blocks(upper, lower), hn::LoadDup128(D8(), k_in_order));
    store_two_rows(hn::BitCast(D64(), bytes), to, out.stride);
  }
}

/// Which coefficients of a group may not be zero.
enum class Content { dc, corner, any };  // the corner: the first four rows and columns

HWY_INLINE bool is_zero(V16 v) { return hn::AllTrue(D16(), hn::Eq(v, hn::Zero(D16()))); }

#if BALE_VECTOR_BYTES == 64

/// By natural index: the zigzag index.
constexpr std::array<std::int16_t, 64> make_unzigzag() {
  std::array<std::int16_t, 64> order{};
  for (std::int16_t i = 0; i < 64; ++i) order[k_zigzag[i]] = i;
  return order;
}
alignas(64) constexpr std::array<std::int16_t, 64> k_unzigzag = make_unzigzag();

/// By zigzag index: all bits set where a coefficient is outside the corner.
constexpr std::array<std::int16_t, 64> make_not_corner() {
  std::array<std::int16_t, 64> mask{};
  for (std::size_t i = 0; i < 64; ++i) mask[i] = k_zigzag[i] / 8 < 4 && k_zigzag[i] % 8 < 4 ? 0 : -1;
  return mask;
}
alignas(64) constexpr std::array<std::int16_t, 64> k_not_corner = make_not_corner();
alignas(64) constexpr std::int16_t k_not_dc[32] = {0,  -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                                   -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

/// From four rows of each of four blocks: a vector of the same row of all blocks, for each row.
HWY_INLINE void gather_rows(const V16 (&blocks)[4], V16* rows) {
  const __m512i a = _mm512_shuffle_i64x2(blocks[0].raw, blocks[1].raw, 0x44);
  const __m512i b = _mm512_shuffle_i64x2(blocks[2].raw, blocks[3].raw, 0x44);
  const __m512i c = _mm512_shuffle_i64x2(blocks[0].raw, blocks[1].raw, 0xEE);
  const __m512i d = _mm512_shuffle_i64x2(blocks[2].raw, blocks[3].raw, 0xEE);
  rows[0] = V16{_mm512_shuffle_i64x2(a, b, 0x88)};
  rows[1] = V16{_mm512_shuffle_i64x2(a, b, 0xDD)};
  rows[2] = V16{_mm512_shuffle_i64x2(c, d, 0x88)};
  rows[3] = V16{_mm512_shuffle_i64x2(c, d, 0xDD)};
}

/// Reads a group, and sets its memory to zero. Sets only the rows that may not be zero.
HWY_INLINE Content take_group(std::int16_t* in, V16 (&v)[8]) {
  const D16 d16;
  V16 low[4];
  V16 high[4];
  for (std::size_t block = 0; block < 4; ++block) {
    std::int16_t* const at = in + block * k_block_size;
    low[block] = hn::Load(d16, at);
    high[block] = hn::Load(d16, at + k_lanes16);
    hn::Store(hn::Zero(d16), d16, at);
    hn::Store(hn::Zero(d16), d16, at + k_lanes16);
  }
  const V16 any_low = hn::Or(hn::Or(low[0], low[1]), hn::Or(low[2], low[3]));
  const V16 any_high = hn::Or(hn::Or(high[0], high[1]), hn::Or(high[2], high[3]));
  if (is_zero(hn::Or(any_high, hn::And(any_low, hn::Load(d16, k_not_dc))))) {
    gather_rows(low, v);
    return Content::dc;
  }
  const V16 outside_low = hn::And(any_low, hn::Load(d16, k_not_corner.data()));
  const V16 outside_high = hn::And(any_high, hn::Load(d16, k_not_corner.data() + k_lanes16));
  const Content content = is_zero(hn::Or(outside_low, outside_high)) ? Content::corner : Content::any;
  const V16 upper = hn::Load(d16, k_unzigzag.data());
  const V16 lower = hn::Load(d16, k_unzigzag.data() + k_lanes16);
  V16 rows[4];
  for (int i = 0; i < 4; ++i) rows[i] = V16{_mm512_permutex2var_epi16(low[i].raw, upper.raw, high[i].raw)};
  gather_rows(rows, v);
  if (content == Content::corner) return content;
  for (int i = 0; i < 4; ++i) rows[i] = V16{_mm512_permutex2var_epi16(low[i].raw, lower.raw, high[i].raw)};
  gather_rows(rows, v + 4);
  return content;
}

#else

alignas(16) constexpr std::int16_t k_not_dc[8] = {0, -1, -1, -1, -1, -1, -1, -1};
alignas(16) constexpr std::int16_t k_last_columns[8] = {0, 0, 0, 0, -1, -1, -1, -1};

/// Reads a group, and sets its memory to zero.
HWY_INLINE Content take_group(std::int16_t* in, V16 (&v)[8]) {
  const D16 d16;
  for (std::size_t row = 0; row < 8; ++row) {
    v[row] = hn::Load(d16, in + row * k_lanes16);
    hn::Store(hn::Zero(d16), d16, in + row * k_lanes16);
  }
  const V16 in_rows123 = hn::Or(hn::Or(v[1], v[2]), v[3]);
  const V16 in_rows4567 = hn::Or(hn::Or(v[4], v[5]), hn::Or(v[6], v[7]));
  const V16 in_last_columns = hn::And(hn::Or(v[0], in_rows123), hn::LoadDup128(d16, k_last_columns));
  if (!is_zero(hn::Or(in_rows4567, in_last_columns))) return Content::any;
  const V16 not_dc = hn::LoadDup128(d16, k_not_dc);
  return is_zero(hn::Or(in_rows123, hn::And(v[0], not_dc))) ? Content::dc : Content::corner;
}

#endif

/// The samples of blocks that have only DC.
HWY_INLINE void store_dc(V16 dc, const Quantizers& quantizers, Extremes& extremes, const SamplesOut& out,
                         std::uint8_t* to) {
  const D16 d16;
  extremes.excess = hn::Max(extremes.excess, hn::Sub(hn::Abs(dc), hn::Set(d16, quantizers.limits[0])));
  const V16 scaled = hn::Mul(dc, hn::Set(d16, quantizers.factors[0]));
  const V16 sample = hn::ShiftRight<3>(hn::Add(scaled, hn::Set(d16, 4 + (k_center << 3))));
  extremes.add_sample(sample);
  // Copies the first lane of each block to all its lanes.
  const V32 two = hn::BitCast(D32(), hn::InterleaveLower(d16, sample, sample));
  const D64 d64;
  const auto four = hn::BitCast(d64, hn::InterleaveLower(D32(), two, two));
  const auto bytes = hn::DemoteTo(DHalf8(), hn::BitCast(d16, hn::InterleaveLower(d64, four, four)));
  for (std::size_t row = 0; row < 8; ++row) hn::StoreU(bytes, DHalf8(), to + row * out.stride);
}

inline bool inverse_dct(std::int16_t* groups, std::size_t num_groups, const Quantizers& quantizers,
                        const SamplesOut& out) {
  Extremes extremes;
  for (std::size_t group = 0; group < num_groups; ++group) {
    std::uint8_t* const to = out.samples + group * k_lanes16;
    V16 v[8];
    switch (take_group(groups + group * k_lanes16 * 8, v)) {
      case Content::any:
        transform_group<8>(v, quantizers, extremes, out, to);
        break;
      case Content::corner:
        transform_group<4>(v, quantizers, extremes, out, to);
        break;
      case Content::dc:
        store_dc(v[0], quantizers, extremes, out, to);
        break;
    }
  }
  return extremes.are_good();
}

}  // namespace bale::image_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
