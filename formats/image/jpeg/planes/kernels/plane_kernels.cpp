#include "bale/formats/image/jpeg/planes/kernels/plane_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "bale/formats/image/jpeg/planes/kernels/plane_tables.hpp"
#include "bale/formats/image/simd/cpu_bits.hpp"
#include "bale/formats/image/simd/kernel_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bale/formats/image/jpeg/planes/kernels/plane_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "bale/formats/image/jpeg/planes/kernels/plane_store-inl.hpp"
#include "bale/formats/image/jpeg/planes/kernels/plane_tables-inl.hpp"
#include "bale/formats/image/simd/avx3_dl-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {

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

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

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

template <std::size_t k_bits, bool k_dense>
HWY_ATTR void decode_some(PlaneRow& row, const std::uint16_t* blocks, std::size_t count) {
  const auto read = [&](std::uint64_t at) { return k_dense ? all_bits_at(row.data, at) : bits_at(row.data, at); };
  const std::uint8_t* const data = row.data;
  std::array<std::uint64_t, k_bits + 1> next;
  std::copy_n(row.next.begin(), next.size(), next.begin());
  const bool is_zigzag = row.is_zigzag();
  const std::size_t stride = row.stride();
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
    if (row.targets[number] == nullptr) continue;
    const Rows rows{.to = row.targets[number], .stride = stride};
    store_block<k_bits>(bits, signs, rows);
    if (is_zigzag) make_zigzag(rows.to);
    *rows.to = row.dc[number];
  }
  std::copy_n(next.begin(), next.size(), row.next.begin());
}

/// As many blocks at once as surely stay in the row; near its end one after the other.
/// How bits are put in place: by one instruction, in words of 57 bits or of 64, or by tables of shuffles.
enum class Way { deposits, dense_deposits, tables };

template <std::size_t k_bits, Way k_way>
HWY_ATTR bool decode_bits(PlaneRow& row, std::span<const std::uint16_t> blocks) {
  while (!blocks.empty()) {
    const std::uint64_t farthest = *std::max_element(row.next.begin(), row.next.begin() + k_bits + 1);
    if (farthest > row.end) return false;
    const std::uint64_t safe = (row.end + k_slack_bits - farthest) / k_most_bits;
    const std::size_t count = std::min<std::uint64_t>(std::max<std::uint64_t>(safe, 1), blocks.size());
    if constexpr (k_way == Way::tables) {
      decode_some_by_tables<k_bits>(row, blocks.data(), count);
    } else {
      decode_some<k_bits, k_way == Way::dense_deposits>(row, blocks.data(), count);
    }
    blocks = blocks.subspan(count);
  }
  return true;
}

HWY_ATTR bool decode_flat(PlaneRow& row, std::span<const std::uint16_t> blocks) {
  const std::size_t stride = row.stride();
  for (const std::uint32_t number : blocks) {
    std::int16_t* const to = row.targets[number];
    if (to == nullptr) continue;
    store_zeros({.to = to, .stride = stride});
    *to = row.dc[number];
  }
  return true;
}

template <Way k_way, Way k_dense_way, std::size_t... k_index>
HWY_ATTR bool decode_kind(PlaneRow& row, std::uint32_t kind, std::span<const std::uint16_t> blocks,
                          std::index_sequence<k_index...>) {
  using Decode = bool (*)(PlaneRow&, std::span<const std::uint16_t>);
  static constexpr Decode k_decoders[] = {decode_flat, decode_bits<k_index + 1, k_way>...,
                                          decode_bits<k_index + 1, k_dense_way>...};
  return k_decoders[kind](row, blocks);
}

bool decode(PlaneRow& row, std::uint32_t kind, std::span<const std::uint16_t> blocks) {
  constexpr auto k_bits = std::make_index_sequence<k_max_ac_bits>();
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  if (!k_bmi2 || has_slow_deposits()) return decode_kind<Way::tables, Way::tables>(row, kind, blocks, k_bits);
#endif
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2)
  return decode_kind<Way::deposits, Way::dense_deposits>(row, kind, blocks, k_bits);
#endif
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
