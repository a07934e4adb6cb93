// From the bits of a row to the coefficients of a block in memory. Included once per target by plane_kernels.cpp.
#if defined(BALE_PLANE_STORE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BALE_PLANE_STORE_INL
#undef BALE_PLANE_STORE_INL
#else
#define BALE_PLANE_STORE_INL
#endif

#include "bale/formats/image/simd/avx3_dl-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

namespace {

/// At least 57 bits from `at` on.
HWY_INLINE std::uint64_t bits_at(const std::uint8_t* data, std::uint64_t at) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, data + (at >> 3), sizeof(bits));
  return bits >> (at & 7);
}

/// 64 bits from `at` on.
HWY_INLINE std::uint64_t all_bits_at(const std::uint8_t* data, std::uint64_t at) {
  const std::uint32_t shift = at & 7;
  const std::uint64_t last = data[(at >> 3) + 8];
  return bits_at(data, at) | (last << 1) << (63 - shift);
}

/// The low `count` bits, fewer than 64.
HWY_INLINE std::uint64_t low_bits(std::uint64_t bits, std::uint64_t count) {
  return bits & ~(~std::uint64_t{0} << (count & 63));
}

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

template <std::size_t k_bits>
void store_block(const std::array<std::uint64_t, k_bits>& bits, std::uint64_t signs, BlockOrder order,
                 std::int16_t* to) {
  for (std::size_t k = 0; k < 64; ++k) {
    const std::size_t i = k_zigzag[k];
    int sum = 0;
    for (std::size_t b = 0; b < k_bits; ++b) sum |= static_cast<int>(bits[b] >> i & 1) << b;
    to[place_in(order, k)] = static_cast<std::int16_t>((signs >> i & 1) != 0 ? -sum : sum);
  }
}

#else

#if HWY_ARCH_X86 && HWY_MAX_BYTES == 64

/// By order and place: the natural index.
template <BlockOrder k_order>
constexpr std::array<std::int16_t, 64> make_natural_indexes() {
  std::array<std::int16_t, 64> indexes{};
  for (std::size_t k = 0; k < 64; ++k) indexes[place_in(k_order, k)] = k_zigzag[k];
  return indexes;
}
alignas(64) constexpr std::array<std::int16_t, 64> k_natural_indexes[3] = {make_natural_indexes<BlockOrder::natural>(),
                                                                           make_natural_indexes<BlockOrder::zigzag>(),
                                                                           make_natural_indexes<BlockOrder::pairs>()};

/// A block in that order, from natural order; at the same place or another.
HWY_ATTR HWY_INLINE void store_ordered(const std::int16_t* block, BlockOrder order, std::int16_t* to) {
  const hn::ScalableTag<std::int16_t> d;
  const std::int16_t* const indexes = k_natural_indexes[static_cast<std::size_t>(order)].data();
  const auto low = hn::LoadU(d, block);
  const auto high = hn::LoadU(d, block + 32);
  for (std::size_t first = 0; first < 64; first += 32) {
    const __m512i half = hn::Load(d, indexes + first).raw;
    hn::StoreU(decltype(low){_mm512_permutex2var_epi16(low.raw, half, high.raw)}, d, to + first);
  }
}

#else

/// For eight places in zigzag order and a row in natural order: the shuffle of what the row has for them; zeros
/// elsewhere.
struct ZigzagShuffles {
  alignas(16) std::uint8_t bytes[8][8][16];
  bool is_used[8][8];
};

constexpr ZigzagShuffles make_zigzag_shuffles() {
  ZigzagShuffles shuffles{};
  for (std::size_t k = 0; k < 64; ++k) {
    for (std::size_t row = 0; row < 8; ++row) {
      const bool has = k_zigzag[k] / 8 == row;
      for (std::size_t byte = 0; byte < 2; ++byte) {
        shuffles.bytes[k / 8][row][k % 8 * 2 + byte] =
            has ? static_cast<std::uint8_t>(k_zigzag[k] % 8 * 2 + byte) : std::uint8_t{0x80};
      }
      if (has) shuffles.is_used[k / 8][row] = true;
    }
  }
  return shuffles;
}
constexpr ZigzagShuffles k_zigzag_shuffles = make_zigzag_shuffles();

using RowTag = hn::CappedTag<std::int16_t, 8>;

HWY_ATTR HWY_INLINE void store_zigzag(const hn::Vec<RowTag> (&rows)[8], std::int16_t* to) {
  const RowTag d;
  const hn::Repartition<std::uint8_t, RowTag> d8;
#pragma GCC unroll 8
  for (std::size_t part = 0; part < 8; ++part) {
    auto places = hn::Zero(d8);
#pragma GCC unroll 8
    for (std::size_t row = 0; row < 8; ++row) {
      if (!k_zigzag_shuffles.is_used[part][row]) continue;
      const auto shuffle = hn::Load(d8, k_zigzag_shuffles.bytes[part][row]);
      places = hn::Or(places, hn::TableLookupBytesOr0(hn::BitCast(d8, rows[row]), shuffle));
    }
    hn::Store(hn::BitCast(d, places), d, to + part * 8);
  }
}

/// A block in that order, from natural order; at the same place or another.
HWY_ATTR HWY_INLINE void store_ordered(const std::int16_t* block, BlockOrder order, std::int16_t* to) {
  const RowTag d;
  hn::Vec<RowTag> rows[8];
  for (std::size_t row = 0; row < 8; ++row) rows[row] = hn::Load(d, block + row * 8);
  if (order == BlockOrder::zigzag) return store_zigzag(rows, to);
#pragma GCC unroll 4
  for (std::size_t row = 0; row < 4; ++row) {
    std::int16_t* const at = to + place_in_pairs(static_cast<std::uint32_t>(row * 8));
    if (order == BlockOrder::pairs) {
      hn::Store(hn::InterleaveLower(d, rows[row], rows[row + 4]), d, at);
      hn::Store(hn::InterleaveUpper(d, rows[row], rows[row + 4]), d, at + 8);
    } else {
      hn::Store(rows[row], d, to + row * 8);
      hn::Store(rows[row + 4], d, to + row * 8 + 32);
    }
  }
}

#endif

/// Sums of 1 << b at the places that bits[b] has, negative where `signs` has them.
template <std::size_t k_bits, typename D>
HWY_ATTR HWY_INLINE hn::Vec<D> sums(D d, const std::array<std::uint64_t, k_bits>& bits, std::uint64_t signs,
                                    std::size_t first) {
  using T = hn::TFromD<D>;
  const auto mask_of = [&](std::uint64_t all) {
    const std::uint64_t part = all >> first;
    std::uint8_t bytes[8];
    std::memcpy(bytes, &part, sizeof(bytes));
    return hn::LoadMaskBits(d, bytes);
  };
  auto sum = hn::IfThenElseZero(mask_of(bits[0]), hn::Set(d, T{1}));
#pragma GCC unroll 16
  for (std::size_t b = 1; b < k_bits; ++b) {
    sum = hn::Or(sum, hn::IfThenElseZero(mask_of(bits[b]), hn::Set(d, static_cast<T>(T{1} << b))));
  }
  return hn::IfThenElse(mask_of(signs), hn::Neg(sum), sum);
}

#if BALE_AVX3_DL

/// By order and byte of a block: the natural index of the coefficient that the byte belongs to.
constexpr std::array<std::array<std::uint8_t, 128>, 3> make_byte_indexes() {
  std::array<std::array<std::uint8_t, 128>, 3> indexes{};
  for (std::size_t order = 0; order < 3; ++order) {
    for (std::size_t byte = 0; byte < 128; ++byte) {
      indexes[order][byte] = static_cast<std::uint8_t>(k_natural_indexes[order][byte / 2]);
    }
  }
  return indexes;
}
alignas(64) constexpr std::array<std::array<std::uint8_t, 128>, 3> k_byte_indexes = make_byte_indexes();

/// From a byte per coefficient in natural order.
template <typename V>
HWY_ATTR HWY_INLINE void store_bytes(V bytes, BlockOrder order, std::int16_t* to) {
  const hn::ScalableTag<std::uint8_t> d8;
  const hn::ScalableTag<std::int16_t> d16;
  const std::uint8_t* const indexes = k_byte_indexes[static_cast<std::size_t>(order)].data();
  for (std::size_t half = 0; half < 2; ++half) {
    const __m512i twice = _mm512_permutexvar_epi8(hn::Load(d8, indexes + half * 64).raw, bytes.raw);
    hn::Store(hn::ShiftRight<8>(hn::Vec<decltype(d16)>{twice}), d16, to + half * 32);
  }
}

#elif HWY_MAX_BYTES >= 32

/// The same in BlockOrder::pairs, from rows 0 to 3 and rows 4 to 7.
template <typename V>
HWY_ATTR HWY_INLINE void store_byte_pairs(V low, V high, std::int16_t* to) {
  const hn::CappedTag<std::int8_t, 32> d8;
  const hn::CappedTag<std::int16_t, 16> d16;
  const hn::Half<decltype(d8)> half;
  const V pairs[2] = {hn::InterleaveLower(d8, low, high), hn::InterleaveUpper(d8, low, high)};
  for (std::size_t i = 0; i < 2; ++i) {
    hn::Store(hn::PromoteTo(d16, hn::LowerHalf(half, pairs[i])), d16, to + i * 32);
    hn::Store(hn::PromoteTo(d16, hn::UpperHalf(half, pairs[i])), d16, to + i * 32 + 16);
  }
}

#endif

/// Stores a block.
template <std::size_t k_bits>
HWY_ATTR HWY_INLINE void store_block(const std::array<std::uint64_t, k_bits>& bits, std::uint64_t signs,
                                     BlockOrder order, std::int16_t* to) {
#if BALE_AVX3_DL
  if constexpr (k_bits <= 7) return store_bytes(sums(hn::ScalableTag<std::int8_t>(), bits, signs, 0), order, to);
#elif HWY_MAX_BYTES >= 32
  if constexpr (k_bits <= 7) {
    const hn::CappedTag<std::int8_t, 32> d8;
    if (order == BlockOrder::pairs) return store_byte_pairs(sums(d8, bits, signs, 0), sums(d8, bits, signs, 32), to);
  }
#endif
  const hn::CappedTag<std::int16_t, 32> d16;
  constexpr std::size_t k_lanes = hn::MaxLanes(d16);
  alignas(64) std::int16_t block[64];
  for (std::size_t first = 0; first < 64; first += k_lanes) {
    hn::Store(sums(d16, bits, signs, first), d16, block + first);
  }
  store_ordered(block, order, to);
}

#endif

}  // namespace
}  // namespace bale::image_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
