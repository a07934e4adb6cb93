// The inverse DCT of several blocks at once, one per 16 bytes of a vector: each 16 bytes hold a row of one block, or
// half of two rows in turn (BlockOrder::pairs). Included once per target by baseline_kernels.cpp.
#if defined(BALE_BASELINE_DCT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BALE_BASELINE_DCT_INL
#undef BALE_BASELINE_DCT_INL
#else
#define BALE_BASELINE_DCT_INL
#endif

#include "bale/formats/image/simd/avx3_dl-inl.hpp"
#include "bale/formats/image/simd/pack_blocks-inl.hpp"

BALE_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D64 = hn::CappedTag<std::int64_t, BALE_VECTOR_BYTES / sizeof(std::int64_t)>;
using DHalf8 = hn::Half<D8>;

constexpr std::size_t k_lanes16 = BALE_VECTOR_BYTES / 2;
constexpr std::uint32_t k_group_shift = BALE_VECTOR_BYTES == 64 ? 2 : BALE_VECTOR_BYTES == 32 ? 1 : 0;

/// Two rows of each block interleaved, to be multiplied by a pair of factors and added.
struct Pairs {
  V16 low;
  V16 high;
};

HWY_INLINE Pairs interleave(V16 a, V16 b) {
  return {hn::InterleaveLower(D16(), a, b), hn::InterleaveUpper(D16(), a, b)};
}

/// The same pointer. The compiler no longer knows what it points to: GCC makes known vectors again, by several
/// instructions, wherever they are used.
template <typename T>
HWY_INLINE const T* opaque(const T* pointer) {
  asm("" : "+r"(pointer));
  return pointer;
}

struct Sum {
  V32 low;
  V32 high;
};

/// A pair of factors.
constexpr std::int32_t pair_of(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>((static_cast<std::uint32_t>(a) & 0xFFFF) | static_cast<std::uint32_t>(b) << 16);
}
HWY_INLINE V16 factors(std::int32_t pair) { return hn::BitCast(D16(), hn::Set(D32(), pair)); }

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

HWY_INLINE V32 multiply_add(V32 sum, V16 pairs, V16 by) {
#if BALE_AVX3_DL
  return V32{_mm512_dpwssd_epi32(sum.raw, pairs.raw, by.raw)};
#else
  return hn::Add(sum, multiply(pairs, by));
#endif
}

HWY_INLINE Sum multiply(const Pairs& pairs, std::int32_t pair) {
  const V16 by = factors(pair);
  return {multiply(pairs.low, by), multiply(pairs.high, by)};
}

HWY_INLINE Sum multiply_add(const Sum& sum, const Pairs& pairs, std::int32_t pair) {
  const V16 by = factors(pair);
  return {multiply_add(sum.low, pairs.low, by), multiply_add(sum.high, pairs.high, by)};
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

/// What the even half's four sums take of rows or elements 2 and 6.
constexpr std::int32_t k_even[4][2] = {{k_0_541 + k_0_765, k_0_541},
                                       {k_0_541, k_0_541 - k_1_847},
                                       {-k_0_541, k_1_847 - k_0_541},
                                       {-k_0_541 - k_0_765, -k_0_541}};
constexpr std::int32_t k_one = 1 << k_dct_bits;

/// The factors of columns, by sum: of the rows that are named.
struct ColumnFactors {
  std::int32_t sum04;
  std::int32_t difference04;
  std::int32_t even26[4];
  std::int32_t odd15[4];
  std::int32_t odd37[4];
  // If rows 4 to 7 are zero.
  std::int32_t even02[4];
  std::int32_t odd13[4];
};

constexpr ColumnFactors make_column_factors() {
  ColumnFactors by{.sum04 = pair_of(k_one, k_one), .difference04 = pair_of(k_one, -k_one)};
  for (std::size_t i = 0; i < 4; ++i) {
    by.even26[i] = pair_of(k_even[i][0], k_even[i][1]);
    by.odd15[i] = pair_of(k_odd[i][0], k_odd[i][2]);
    by.odd37[i] = pair_of(k_odd[i][1], k_odd[i][3]);
    by.even02[i] = pair_of(k_one, k_even[i][0]);
    by.odd13[i] = pair_of(k_odd[i][0], k_odd[i][1]);
  }
  return by;
}
constexpr ColumnFactors k_column_factors = make_column_factors();

/// The first pass: transforms columns, from pairs of rows to vectors of rows. Adds k_row_bias to the first column.
HWY_INLINE void transform_columns(const V16 (&in)[8], V16 (&rows)[8]) {
  const ColumnFactors& by = *opaque(&k_column_factors);
  const Pairs in04{in[0], in[1]};
  const Pairs in26{in[2], in[3]};
  const Pairs in15{in[4], in[5]};
  const Pairs in37{in[6], in[7]};
  const Sum half{hn::LoadDup128(D32(), opaque(k_first_columns)), hn::Set(D32(), k_half_first)};
  const Sum sum = multiply_add(half, in04, by.sum04);
  const Sum difference = multiply_add(half, in04, by.difference04);
#if BALE_AVX3_DL
  const Sum even[4] = {multiply_add(sum, in26, by.even26[0]), multiply_add(difference, in26, by.even26[1]),
                       multiply_add(difference, in26, by.even26[2]), multiply_add(sum, in26, by.even26[3])};
#else
  const Sum outer = multiply(in26, by.even26[0]);
  const Sum inner = multiply(in26, by.even26[1]);
  const Sum even[4] = {add(sum, outer), add(difference, inner), subtract(difference, inner), subtract(sum, outer)};
#endif
  for (int i = 0; i < 4; ++i) {
    const Sum odd = multiply_add(multiply(in15, by.odd15[i]), in37, by.odd37[i]);
    rows[i] = descale<k_first_shift>(add(even[i], odd));
    rows[7 - i] = descale<k_first_shift>(subtract(even[i], odd));
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

/// Of elements 0 and 2, 1 and 3, 4 and 6, 5 and 7.
constexpr RowTerms k_row_terms[4] = {
    make_row_terms(0, {k_one, k_one, k_one, k_one}, {k_even[0][0], k_even[1][0], k_even[2][0], k_even[3][0]}),
    make_row_terms(1, {k_odd[0][0], k_odd[1][0], k_odd[2][0], k_odd[3][0]},
                   {k_odd[0][1], k_odd[1][1], k_odd[2][1], k_odd[3][1]}),
    make_row_terms(4, {k_one, -k_one, -k_one, k_one}, {k_even[0][1], k_even[1][1], k_even[2][1], k_even[3][1]}),
    make_row_terms(5, {k_odd[0][2], k_odd[1][2], k_odd[2][2], k_odd[3][2]},
                   {k_odd[0][3], k_odd[1][3], k_odd[2][3], k_odd[3][3]})};

/// Two elements of a row of each block, four times.
HWY_INLINE V16 pairs_of(V16 row, const RowTerms& terms) {
  return hn::BitCast(D16(), hn::TableLookupBytes(hn::BitCast(D8(), row), hn::LoadDup128(D8(), terms.pairs)));
}
HWY_INLINE V16 factors_of(const RowTerms& terms) { return hn::LoadDup128(D16(), terms.factors); }

/// The second pass, of a row of each block. The last four samples of the result are in the opposite order.
HWY_INLINE V16 samples_of(V32 even, V32 odd) {
  return pack_blocks(hn::ShiftRight<k_second_shift>(hn::Add(even, odd)),
                     hn::ShiftRight<k_second_shift>(hn::Sub(even, odd)));
}
HWY_INLINE V16 transform_row(V16 row, const RowTerms* terms) {
  const V32 even = multiply(pairs_of(row, terms[0]), factors_of(terms[0]));
  const V32 odd = multiply(pairs_of(row, terms[1]), factors_of(terms[1]));
  return samples_of(multiply_add(even, pairs_of(row, terms[2]), factors_of(terms[2])),
                    multiply_add(odd, pairs_of(row, terms[3]), factors_of(terms[3])));
}
/// The same of a row whose columns 4 to 7 are zero. Its four elements are the first of each 16 bytes, or the last.
HWY_INLINE V16 transform_half_row(V16 row, bool is_last, const RowTerms* terms) {
  return samples_of(multiply(pairs_of(row, terms[is_last ? 2 : 0]), factors_of(terms[0])),
                    multiply(pairs_of(row, terms[is_last ? 3 : 1]), factors_of(terms[1])));
}

/// Both passes, of blocks of which only the first four rows and columns are not zero: of `in`, rows 0 and 2, 1 and 3.
HWY_INLINE void transform_corner(V16 in02, V16 in13, V16 (&rows)[8], const RowTerms* terms) {
  const ColumnFactors& by = *opaque(&k_column_factors);
  const V32 half = hn::LoadDup128(D32(), opaque(k_first_columns));
  for (int i = 0; i < 4; ++i) {
    const V32 even = multiply_add(half, in02, factors(by.even02[i]));
    const V32 odd = multiply(in13, factors(by.odd13[i]));
    const V16 both = pack_blocks(hn::ShiftRight<k_first_shift>(hn::Add(even, odd)),
                                 hn::ShiftRight<k_first_shift>(hn::Sub(even, odd)));
    rows[i] = transform_half_row(both, false, terms);
    rows[7 - i] = transform_half_row(both, true, terms);
  }
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

using DU16 = hn::RebindToUnsigned<D16>;
using VU16 = hn::Vec<DU16>;

/// What has to be within limits. Values between the passes need no check: if one is above k_max_value, a sample is
/// above k_max_sample, because each is a weighted sum of the samples of its row.
struct Extremes {
  HWY_INLINE Extremes() : most(hn::Zero(D16())), least(most) {
    for (VU16& magnitudes : largest) magnitudes = hn::Zero(DU16());
  }
  HWY_INLINE void add_coefficients(std::size_t part, V16 coefficients) {
    largest[part] = hn::Max(largest[part], hn::BitCast(DU16(), hn::Abs(coefficients)));
  }
  HWY_INLINE void add_sample(V16 sample) {
    most = hn::Max(most, sample);
    least = hn::Min(least, sample);
  }
  HWY_INLINE bool are_good(const Quantizers& quantizers) const {
    const D16 d16;
    bool good = hn::AllFalse(d16, hn::Gt(most, hn::Set(d16, k_center + k_max_sample))) &&
                hn::AllFalse(d16, hn::Lt(least, hn::Set(d16, k_center - k_max_sample)));
    for (std::size_t part = 0; part < 8; ++part) {
      const VU16 limit = hn::BitCast(DU16(), hn::LoadDup128(d16, quantizers.limits.data() + part * 8));
      good = good && hn::AllTrue(DU16(), hn::Eq(hn::Max(largest[part], limit), limit));
    }
    return good;
  }

  VU16 largest[8];  // magnitudes of the coefficients
  V16 most;         // of the samples
  V16 least;
};

alignas(16) constexpr std::uint8_t k_in_order[16] = {0, 1, 2, 3, 7, 6, 5, 4, 8, 9, 10, 11, 15, 14, 13, 12};

/// Stores the rows of a group. The last four samples of each are in the opposite order.
HWY_INLINE void store_rows(const V16 (&rows)[8], Extremes& extremes, const SamplesOut& out, std::uint8_t* to) {
  const V8 in_order = hn::LoadDup128(D8(), opaque(k_in_order));
  for (std::size_t row = 0; row < 8; row += 2, to += 2 * out.stride) {
    extremes.add_sample(rows[row]);
    extremes.add_sample(rows[row + 1]);
    const V8 bytes = hn::TableLookupBytes(pack_blocks(rows[row], rows[row + 1]), in_order);
    store_two_rows(hn::BitCast(D64(), bytes), to, out.stride);
  }
}

/// Which coefficients of a group may not be zero.
enum class Content { dc, corner, any };  // the corner: the first four rows and columns

HWY_INLINE bool is_zero(V16 v) { return hn::AllTrue(D16(), hn::Eq(v, hn::Zero(D16()))); }

alignas(16) constexpr std::int16_t k_not_dc[8] = {0, -1, -1, -1, -1, -1, -1, -1};
alignas(16) constexpr std::int16_t k_last_rows[8] = {0, -1, 0, -1, 0, -1, 0, -1};

#if BALE_VECTOR_BYTES == 64

/// From 64 bytes of each of four blocks: a vector of the same 16 of all blocks, for each 16.
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

/// Reads a group, and sets its memory to zero.
HWY_INLINE void take_group(std::int16_t* in, V16 (&v)[8]) {
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
  gather_rows(low, v);
  gather_rows(high, v + 4);
}

#else

/// Reads a group, and sets its memory to zero.
HWY_INLINE void take_group(std::int16_t* in, V16 (&v)[8]) {
  const D16 d16;
  const hn::CappedTag<std::int16_t, 8> part;
  for (std::size_t i = 0; i < 8; ++i) {
#if BALE_VECTOR_BYTES == 32
    v[i] = hn::Combine(d16, hn::Load(part, in + k_block_size + i * 8), hn::Load(part, in + i * 8));
#else
    v[i] = hn::Load(part, in + i * 8);
#endif
  }
  for (std::size_t i = 0; i < 8; ++i) hn::Store(hn::Zero(d16), d16, in + i * k_lanes16);
}

#endif

HWY_INLINE Content content_of(const V16 (&v)[8]) {
  const D16 d16;
  const V16 first = hn::Or(hn::Or(v[2], v[4]), v[6]);
  const V16 last = hn::Or(hn::Or(v[1], v[3]), hn::Or(v[5], v[7]));
  const V16 last_rows = hn::LoadDup128(d16, opaque(k_last_rows));
  if (!is_zero(hn::Or(last, hn::And(hn::Or(first, v[0]), last_rows)))) return Content::any;
  const V16 not_dc = hn::LoadDup128(d16, opaque(k_not_dc));
  return is_zero(hn::Or(first, hn::And(v[0], not_dc))) ? Content::dc : Content::corner;
}

HWY_INLINE V16 dequantize(std::size_t part, V16 coefficients, const Quantizers& quantizers, Extremes& extremes) {
  extremes.add_coefficients(part, coefficients);
  return hn::Mul(coefficients, hn::LoadDup128(D16(), quantizers.factors.data() + part * 8));
}

/// In each pair the first of `a` and of `b`, whose seconds are zero.
HWY_INLINE V16 pair_firsts(V16 a, V16 b) {
  return hn::Or(a, hn::BitCast(D16(), hn::ShiftLeft<16>(hn::BitCast(D32(), b))));
}

/// The samples of blocks that have only DC.
HWY_INLINE void store_dc(V16 dc, const Quantizers& quantizers, Extremes& extremes, const SamplesOut& out,
                         std::uint8_t* to) {
  const D16 d16;
  const V16 scaled = dequantize(0, dc, quantizers, extremes);
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
                        const SamplesOut& samples) {
  const SamplesOut out = samples;  // the compiler takes bytes that are stored for a possible change of it
  const RowTerms* const terms = opaque(k_row_terms);
  Extremes extremes;
  for (std::size_t group = 0; group < num_groups; ++group) {
    std::uint8_t* const to = out.samples + group * k_lanes16;
    V16 v[8];
    take_group(groups + group * k_lanes16 * 8, v);
    const Content content = content_of(v);
    if (content == Content::dc) {
      store_dc(v[0], quantizers, extremes, out, to);
      continue;
    }
    V16 rows[8];
    if (content == Content::corner) {
      for (std::size_t i = 0; i < 8; i += 2) v[i] = dequantize(i, v[i], quantizers, extremes);
      transform_corner(pair_firsts(v[0], v[2]), pair_firsts(v[4], v[6]), rows, terms);
    } else {
      for (std::size_t i = 0; i < 8; ++i) v[i] = dequantize(i, v[i], quantizers, extremes);
      transform_columns(v, rows);
      for (V16& row : rows) row = transform_row(row, terms);
    }
    store_rows(rows, extremes, out, to);
  }
  return extremes.are_good(quantizers);
}

}  // namespace bale::image_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
