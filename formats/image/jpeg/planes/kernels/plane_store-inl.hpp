// From the bits of a row to the coefficients of a block in memory. Included once per target by plane_kernels.cpp.
#if defined(BALE_PLANE_STORE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BALE_PLANE_STORE_INL
#undef BALE_PLANE_STORE_INL
#else
#define BALE_PLANE_STORE_INL
#endif

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

/// Where the rows of eight coefficients of a block go. In zigzag order they follow one another.
struct Rows {
  std::int16_t* to;
  std::size_t stride;
  bool is_zigzag;
};

HWY_INLINE Rows rows_at(const BlockLayout& layout, std::int16_t* to) {
  const bool is_zigzag = layout.order == BlockOrder::zigzag;
  return {.to = to, .stride = is_zigzag ? 8 : std::size_t{8} << layout.group_shift, .is_zigzag = is_zigzag};
}

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

template <std::size_t k_bits>
void store_block(const std::array<std::uint64_t, k_bits>& bits, std::uint64_t signs, const Rows& rows) {
  for (std::size_t k = 0; k < 64; ++k) {
    const std::size_t i = rows.is_zigzag ? k_zigzag[k] : k;
    int sum = 0;
    for (std::size_t b = 0; b < k_bits; ++b) sum |= static_cast<int>(bits[b] >> i & 1) << b;
    rows.to[k / 8 * rows.stride + k % 8] = static_cast<std::int16_t>((signs >> i & 1) != 0 ? -sum : sum);
  }
}

void store_zeros(const Rows& rows) {
  for (std::size_t row = 0; row < 8; ++row) std::fill_n(rows.to + row * rows.stride, 8, std::int16_t{0});
}

#else

#if HWY_ARCH_X86 && HWY_MAX_BYTES == 64

constexpr std::array<std::int16_t, 64> make_wide_zigzag() {
  std::array<std::int16_t, 64> order{};
  for (std::size_t k = 0; k < 64; ++k) order[k] = k_zigzag[k];
  return order;
}
alignas(64) constexpr std::array<std::int16_t, 64> k_wide_zigzag = make_wide_zigzag();

/// A block in zigzag order, from natural order; at the same place or another.
HWY_ATTR HWY_INLINE void store_zigzag(const std::int16_t* block, std::int16_t* to) {
  const hn::ScalableTag<std::int16_t> d;
  const auto low = hn::LoadU(d, block);
  const auto high = hn::LoadU(d, block + 32);
  const __m512i first = hn::Load(d, k_wide_zigzag.data()).raw;
  const __m512i last = hn::Load(d, k_wide_zigzag.data() + 32).raw;
  hn::StoreU(decltype(low){_mm512_permutex2var_epi16(low.raw, first, high.raw)}, d, to);
  hn::StoreU(decltype(low){_mm512_permutex2var_epi16(low.raw, last, high.raw)}, d, to + 32);
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

/// A block in zigzag order, from natural order; at the same place or another.
HWY_ATTR HWY_INLINE void store_zigzag(const std::int16_t* block, std::int16_t* to) {
  const hn::CappedTag<std::int16_t, 8> d;
  const hn::Repartition<std::uint8_t, decltype(d)> d8;
  hn::Vec<decltype(d8)> rows[8];
  for (std::size_t row = 0; row < 8; ++row) rows[row] = hn::BitCast(d8, hn::Load(d, block + row * 8));
#pragma GCC unroll 8
  for (std::size_t part = 0; part < 8; ++part) {
    auto places = hn::Zero(d8);
#pragma GCC unroll 8
    for (std::size_t row = 0; row < 8; ++row) {
      if (!k_zigzag_shuffles.is_used[part][row]) continue;
      const auto shuffle = hn::Load(d8, k_zigzag_shuffles.bytes[part][row]);
      places = hn::Or(places, hn::TableLookupBytesOr0(rows[row], shuffle));
    }
    hn::Store(hn::BitCast(d, places), d, to + part * 8);
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

/// Stores a block.
template <std::size_t k_bits>
HWY_ATTR HWY_INLINE void store_block(const std::array<std::uint64_t, k_bits>& bits, std::uint64_t signs,
                                     const Rows& rows) {
  const hn::CappedTag<std::int16_t, 32> d16;
  constexpr std::size_t k_lanes = hn::MaxLanes(d16);
  const hn::CappedTag<std::int16_t, 8> d_row;
  alignas(64) std::int16_t block[64];
  if constexpr (k_bits <= 7) {
    const hn::Repartition<std::int8_t, decltype(d16)> d8;
    constexpr std::size_t k_bytes = hn::MaxLanes(d8);
    const hn::Half<decltype(d8)> half;
    for (std::size_t first = 0; first < 64; first += k_bytes) {
      const auto sum = sums(d8, bits, signs, first);
      hn::Store(hn::PromoteTo(d16, hn::LowerHalf(half, sum)), d16, block + first);
      hn::Store(hn::PromoteTo(d16, hn::UpperHalf(half, sum)), d16, block + first + k_lanes);
    }
  } else {
    for (std::size_t first = 0; first < 64; first += k_lanes) {
      hn::Store(sums(d16, bits, signs, first), d16, block + first);
    }
  }
  if (rows.is_zigzag) return store_zigzag(block, rows.to);
  for (std::size_t row = 0; row < 8; ++row) {
    hn::Store(hn::Load(d_row, block + row * 8), d_row, rows.to + row * rows.stride);
  }
}

HWY_ATTR HWY_INLINE void store_zeros(const Rows& rows) {
  const hn::CappedTag<std::int16_t, 8> d;
  for (std::size_t row = 0; row < 8; ++row) hn::Store(hn::Zero(d), d, rows.to + row * rows.stride);
}

#endif

}  // namespace
}  // namespace bale::image_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
