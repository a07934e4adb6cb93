#include "bale/formats/image/jpeg/planes/plane_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "bale/formats/image/simd/cpu_bits.hpp"
#include "bale/formats/image/simd/kernel_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bale/formats/image/jpeg/planes/plane_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "bale/formats/image/simd/avx3_dl-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

namespace {

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
constexpr bool k_bmi2 = true;
#else
constexpr bool k_bmi2 = false;
#endif

// A coefficient takes at most two bits of a plane.
constexpr std::uint64_t k_most_bits = 126;
// What is read beyond the end before that is noticed, but for the last block.
constexpr std::uint64_t k_slack_bits = (k_plane_padding - 24) * 8;

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

/// Where rows of eight coefficients go.
struct Rows {
  std::int16_t* to;
  std::size_t stride;
};

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

template <std::size_t k_bits>
void store_block(const std::array<std::uint64_t, k_bits>& bits, std::uint64_t signs, const Rows& rows) {
  for (std::size_t i = 0; i < 64; ++i) {
    int sum = 0;
    for (std::size_t b = 0; b < k_bits; ++b) sum |= static_cast<int>(bits[b] >> i & 1) << b;
    rows.to[i / 8 * rows.stride + i % 8] = static_cast<std::int16_t>((signs >> i & 1) != 0 ? -sum : sum);
  }
}

void store_zeros(const Rows& rows) {
  for (std::size_t row = 0; row < 8; ++row) std::fill_n(rows.to + row * rows.stride, 8, std::int16_t{0});
}

bool look_at(const std::int16_t* block, BlockBits& bits) {
  bits = {};
  for (std::size_t k = 1; k < 64; ++k) {
    const std::uint64_t place = std::uint64_t{1} << k_zigzag[k];
    const auto magnitude = static_cast<std::uint32_t>(block[k] < 0 ? -block[k] : block[k]);
    if (magnitude >> k_max_ac_bits != 0) return false;
    for (std::size_t b = 0; b < k_max_ac_bits; ++b) bits.magnitudes[b] |= (magnitude >> b & 1) != 0 ? place : 0;
    if (block[k] < 0) bits.signs |= place;
    if (block[k] != 0) bits.nonzero |= std::uint64_t{1} << k;
  }
  return true;
}

#else

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

/// Stores a block whose rows of eight are in natural order.
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
  for (std::size_t row = 0; row < 8; ++row) {
    hn::Store(hn::Load(d_row, block + row * 8), d_row, rows.to + row * rows.stride);
  }
}

HWY_ATTR HWY_INLINE void store_zeros(const Rows& rows) {
  const hn::CappedTag<std::int16_t, 8> d;
  for (std::size_t row = 0; row < 8; ++row) hn::Store(hn::Zero(d), d, rows.to + row * rows.stride);
}

HWY_ATTR bool look_at(const std::int16_t* block, BlockBits& bits) {
  const hn::CappedTag<std::int16_t, 32> d;
  constexpr std::size_t k_lanes = hn::MaxLanes(d);
  alignas(64) std::int16_t natural[64];
  for (std::size_t k = 0; k < 64; ++k) natural[k_zigzag[k]] = block[k];
  natural[0] = 0;
  const auto bits_of = [&](auto mask) {
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(d, mask, bytes);
    std::uint64_t part;
    std::memcpy(&part, bytes, sizeof(part));
    return part;
  };
  bits = {};
  bool is_large = false;
  for (std::size_t first = 0; first < 64; first += k_lanes) {
    bits.nonzero |= bits_of(hn::Ne(hn::LoadU(d, block + first), hn::Zero(d))) << first;
    const auto values = hn::Load(d, natural + first);
    // The smallest value stays negative: a block with it has a place with a sign and no bits, and is not restored.
    const auto magnitudes = hn::Abs(values);
    bits.signs |= bits_of(hn::Lt(values, hn::Zero(d))) << first;
    is_large |= !hn::AllFalse(d, hn::Gt(magnitudes, hn::Set(d, (1 << k_max_ac_bits) - 1)));
    for (std::size_t b = 0; b < k_max_ac_bits; ++b) {
      const auto bit = hn::Set(d, static_cast<std::int16_t>(1 << b));
      bits.magnitudes[b] |= bits_of(hn::TestBit(magnitudes, bit)) << first;
    }
  }
  bits.nonzero &= ~std::uint64_t{1};
  return !is_large;
}

#endif

/// Moves a block from natural to zigzag order.
HWY_INLINE void make_zigzag(std::int16_t* block) {
  std::int16_t natural[64];
  std::memcpy(natural, block, sizeof(natural));
  for (std::size_t k = 0; k < 64; ++k) block[k] = natural[k_zigzag[k]];
}

template <std::size_t k_bits, bool k_dense>
HWY_ATTR void decode_some(PlaneRow& row, const std::uint16_t* blocks, std::size_t count) {
  const auto read = [&](std::uint64_t at) { return k_dense ? all_bits_at(row.data, at) : bits_at(row.data, at); };
  const std::uint8_t* const data = row.data;
  std::array<std::uint64_t, k_bits + 1> next;
  std::copy_n(row.next.begin(), next.size(), next.begin());
  const bool is_zigzag = row.layout.order == BlockOrder::zigzag;
  const std::size_t stride = is_zigzag ? 8 : std::size_t{8} << row.layout.group_shift;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t number = blocks[i];
    const std::uint8_t block_class = row.classes[number];
    const std::uint64_t mask = deposit_bits<k_bmi2>(all_bits_at(data, next[0]), k_plane_classes.reach[block_class]);
    next[0] += k_plane_classes.mask_bits[block_class];
    auto count_here = static_cast<std::uint64_t>(std::popcount(mask));
    const std::uint64_t signs = deposit_bits<k_bmi2>(read(next[1]), mask);
    next[1] += count_here;
    // bits[b]: which coefficients have bit b. The highest bit of each is the one that it reaches.
    std::array<std::uint64_t, k_bits> bits;
    std::uint64_t before = mask;
#pragma GCC unroll 16
    for (std::size_t j = 2; j <= k_bits; ++j) {
      const std::uint64_t reaching = deposit_bits<k_bmi2>(read(next[j]), before);
      next[j] += count_here;
      count_here = static_cast<std::uint64_t>(std::popcount(reaching));
      const std::uint64_t mantissa = deposit_bits<k_bmi2>(read(next[j]), reaching);
      next[j] += count_here;
      bits[j - 2] = (before & ~reaching) | mantissa;
      before = reaching;
    }
    bits[k_bits - 1] = before;
    const Rows rows{.to = row.targets[number], .stride = stride};
    store_block<k_bits>(bits, signs, rows);
    if (is_zigzag) make_zigzag(rows.to);
    *rows.to = row.dc[number];
  }
  std::copy_n(next.begin(), next.size(), row.next.begin());
}

/// As many blocks at once as surely stay in the row; near its end one after the other.
template <std::size_t k_bits, bool k_dense>
HWY_ATTR bool decode_bits(PlaneRow& row, std::span<const std::uint16_t> blocks) {
  while (!blocks.empty()) {
    const std::uint64_t farthest = *std::max_element(row.next.begin(), row.next.begin() + k_bits + 1);
    if (farthest > row.end) return false;
    const std::uint64_t safe = (row.end + k_slack_bits - farthest) / k_most_bits;
    const std::size_t count = std::min<std::uint64_t>(std::max<std::uint64_t>(safe, 1), blocks.size());
    decode_some<k_bits, k_dense>(row, blocks.data(), count);
    blocks = blocks.subspan(count);
  }
  return true;
}

HWY_ATTR bool decode_flat(PlaneRow& row, std::span<const std::uint16_t> blocks) {
  const bool is_zigzag = row.layout.order == BlockOrder::zigzag;
  const std::size_t stride = is_zigzag ? 8 : std::size_t{8} << row.layout.group_shift;
  for (const std::uint32_t number : blocks) {
    std::int16_t* const to = row.targets[number];
    store_zeros({.to = to, .stride = stride});
    *to = row.dc[number];
  }
  return true;
}

template <std::size_t... k_index>
HWY_ATTR bool decode_kind(PlaneRow& row, std::uint32_t kind, std::span<const std::uint16_t> blocks,
                          std::index_sequence<k_index...>) {
  using Decode = bool (*)(PlaneRow&, std::span<const std::uint16_t>);
  static constexpr Decode k_decoders[] = {decode_flat, decode_bits<k_index + 1, false>...,
                                          decode_bits<k_index + 1, true>...};
  return k_decoders[kind](row, blocks);
}

bool decode(PlaneRow& row, std::uint32_t kind, std::span<const std::uint16_t> blocks) {
  return decode_kind(row, kind, blocks, std::make_index_sequence<k_max_ac_bits>());
}

}  // namespace

const PlaneKernels& plane_kernels_of_target() {
  static constexpr PlaneKernels k_kernels = {.look_at = look_at, .decode = decode};
  return k_kernels;
}

}  // namespace bale::image_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bale::image_detail {

HWY_EXPORT(plane_kernels_of_target);

const PlaneKernels& plane_kernels() { return HWY_DYNAMIC_DISPATCH(plane_kernels_of_target)(); }

}  // namespace bale::image_detail
#endif
