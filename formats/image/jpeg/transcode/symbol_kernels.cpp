#include "bale/formats/image/jpeg/transcode/symbol_kernels.hpp"

#include <bit>
#include <cstring>
#include <utility>

#include "bale/formats/image/simd/kernel_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bale/formats/image/jpeg/transcode/symbol_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "bale/formats/image/simd/avx3_dl-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

namespace {

constexpr std::uint32_t k_sixteen_zeros = 0xF0;
constexpr std::uint32_t k_index_mask = 0xFF;
constexpr std::uint32_t k_table_mask = k_symbol_mask & ~k_index_mask;
constexpr std::uint32_t k_last_index = 63;

/// Which coefficients of a block have a magnitude of 1 << `bit` or more.
HWY_ATTR HWY_INLINE std::uint64_t mask_of_block(const std::int16_t* block, int bit) {
  const hn::ScalableTag<std::int16_t> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  constexpr std::size_t k_lanes = hn::MaxLanes(d);
  static_assert(64 % k_lanes == 0);
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < 64; i += k_lanes) {
    std::uint8_t bits[8] = {};
    const auto magnitude = hn::BitCast(du, hn::Abs(hn::Load(d, block + i)));
    hn::StoreMaskBits(du, hn::Ne(hn::ShiftRightSame(magnitude, bit), hn::Zero(du)), bits);
    std::uint64_t part;
    std::memcpy(&part, bits, sizeof(part));
    mask |= part << i;
  }
  return mask;
}

#if BALE_AVX3_DL  // VBMI2 moves the lanes of a mask together

/// Appends the coefficients of a block that are not zero, and DC, and their places. Returns the mask of them.
HWY_ATTR HWY_INLINE std::uint64_t collect_block(const std::int16_t* block, std::uint32_t ac_table,
                                                std::uint16_t* places, std::int16_t* values) {
  const hn::ScalableTag<std::int16_t> d;
  const hn::ScalableTag<std::uint16_t> du;
  static_assert(hn::MaxLanes(d) == 32);
  const auto low = hn::Load(d, block);
  const auto high = hn::Load(d, block + 32);
  const auto low_mask = hn::Or(hn::Ne(low, hn::Zero(d)), hn::FirstN(d, 1));
  const auto high_mask = hn::Ne(high, hn::Zero(d));
  std::uint64_t mask = 0;
  hn::StoreMaskBits(d, low_mask, reinterpret_cast<std::uint8_t*>(&mask));
  hn::StoreMaskBits(d, high_mask, reinterpret_cast<std::uint8_t*>(&mask) + 4);
  const auto num_low = static_cast<std::size_t>(std::popcount(static_cast<std::uint32_t>(mask)));
  const auto first_place = static_cast<std::uint16_t>(ac_table << 8);
  const auto low_places = hn::Iota(du, first_place);
  const auto high_places = hn::Add(low_places, hn::Set(du, 32));
  hn::StoreU(hn::Compress(low, low_mask), d, values);
  hn::StoreU(hn::Compress(low_places, hn::RebindMask(du, low_mask)), du, places);
  hn::StoreU(hn::Compress(high, high_mask), d, values + num_low);
  hn::StoreU(hn::Compress(high_places, hn::RebindMask(du, high_mask)), du, places + num_low);
  return mask;
}

#else

HWY_ATTR HWY_INLINE std::uint64_t collect_block(const std::int16_t* block, std::uint32_t ac_table,
                                                std::uint16_t* places, std::int16_t* values) {
  const std::uint64_t mask = mask_of_block(block, 0) | 1;
  for (std::uint64_t rest = mask; rest != 0; rest &= rest - 1) {
    const auto at = static_cast<std::uint32_t>(std::countr_zero(rest));
    *places++ = static_cast<std::uint16_t>(ac_table << 8 | at);
    *values++ = block[at];
  }
  return mask;
}

#endif

std::size_t collect(const RowOfBlocks& row, std::array<std::int32_t, 3>& predictions, const CodedValues& to) {
  std::uint16_t* places = to.places;
  std::int16_t* values = to.values;
  std::array<std::int32_t, 3> before = predictions;
  for (std::size_t mcu = 0; mcu < row.num_mcus; ++mcu) {
    for (std::size_t i = 0; i < row.num_places; ++i) {
      const RowOfBlocks::Place& place = row.places[i];
      const std::int16_t* const block = place.coefficients + mcu * place.step;
      const std::uint64_t mask = collect_block(block, place.dc_table + 1, places, values);
      const std::int32_t dc = *block;
      *places = static_cast<std::uint16_t>(place.dc_table << 8);
      *values = static_cast<std::int16_t>(dc - std::exchange(before[place.component], dc));
      const auto count = static_cast<std::size_t>(std::popcount(mask));
      places[count] = static_cast<std::uint16_t>((place.dc_table + 1) << 8);
      values[count] = 0;
      // A block whose last coefficient is not zero needs no end.
      const std::size_t taken = count + 1 - (mask >> k_last_index);
      places += taken;
      values += taken;
    }
  }
  predictions = before;
  std::memset(places, 0, CodedValues::k_padding * sizeof(*places));
  std::memset(values, 0, CodedValues::k_padding * sizeof(*values));
  return static_cast<std::size_t>(places - to.places);
}

std::uint64_t count_long_runs(const RowOfBlocks& row) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < row.num_places; ++i) {
    const RowOfBlocks::Place& place = row.places[i];
    for (std::size_t mcu = 0; mcu < row.num_mcus; ++mcu) {
      const std::uint64_t mask = mask_of_block(place.coefficients + mcu * place.step, 0) | 1;
      // Each coefficient that is not zero, and the fifteen places after it.
      std::uint64_t near = mask | mask << 1;
      near |= near << 2;
      near |= near << 4;
      near |= near << 8;
      const auto first_after = static_cast<std::uint32_t>(std::bit_width(mask));
      const std::uint64_t below = ~std::uint64_t{0} >> (64 - first_after);
      if ((near & below) == below) [[likely]]
        continue;
      std::uint64_t rest = mask;
      while ((rest & (rest - 1)) != 0) {
        const auto from = std::countr_zero(rest);
        rest &= rest - 1;
        count += static_cast<std::uint64_t>(std::countr_zero(rest) - from - 1) >> 4;
      }
    }
  }
  return count;
}

std::size_t make_symbols(const CodedValues& from, std::size_t count, ScanSymbol* out, LargestValues& largest) {
  const hn::ScalableTag<std::int32_t> d;
  const hn::Rebind<float, decltype(d)> df;
  const hn::Rebind<std::int16_t, decltype(d)> dv;
  const hn::Rebind<std::uint16_t, decltype(d)> dp;
  const std::size_t lanes = hn::Lanes(d);
  const ScanSymbol* const first = out;
  const auto one = hn::Set(d, 1);
  auto all_dc = hn::Zero(d);
  auto all_ac = hn::Zero(d);
  for (std::size_t i = 0; i < count; i += lanes) {
    const auto place = hn::PromoteTo(d, hn::LoadU(dp, from.places + i));
    const auto before = hn::PromoteTo(d, hn::LoadU(dp, from.places + i - 1));
    const auto value = hn::PromoteTo(d, hn::LoadU(dv, from.values + i));
    const auto index = hn::And(place, hn::Set(d, k_index_mask));
    const auto is_first = hn::Eq(index, hn::Zero(d));
    const auto gap = hn::Sub(hn::Sub(index, hn::And(before, hn::Set(d, k_index_mask))), one);
    const auto run = hn::IfThenZeroElse(is_first, gap);
    const auto sign = hn::ShiftRight<31>(value);
    const auto absolute = hn::Sub(hn::Xor(value, sign), sign);
    all_dc = hn::Or(all_dc, hn::IfThenElseZero(is_first, absolute));
    all_ac = hn::Or(all_ac, hn::IfThenZeroElse(is_first, absolute));
    // The exponent of a float is the number of bits.
    const auto exponent = hn::ShiftRight<23>(hn::BitCast(d, hn::ConvertTo(df, absolute)));
    const auto size = hn::Max(hn::Sub(exponent, hn::Set(d, 126)), hn::Zero(d));
    const auto bits = hn::And(hn::Add(value, sign), hn::Sub(hn::Shl(one, size), one));
    const auto low = hn::Or(hn::ShiftLeft<4>(hn::And(run, hn::Set(d, 15))), hn::And(size, hn::Set(d, 15)));
    const auto symbols = hn::Or(hn::ShiftLeft<16>(bits), hn::Or(hn::Sub(place, index), low));
    const std::size_t taken = count - i < lanes ? count - i : lanes;
    if (hn::AllFalse(d, hn::Gt(run, hn::Set(d, 15)))) [[likely]] {
      hn::StoreU(symbols, d, reinterpret_cast<std::int32_t*>(out));
      out += taken;
      continue;
    }
    std::int32_t each[hn::MaxLanes(d)];
    std::int32_t long_runs[hn::MaxLanes(d)];
    hn::StoreU(symbols, d, each);
    hn::StoreU(hn::ShiftRight<4>(run), d, long_runs);
    for (std::size_t n = 0; n < taken; ++n) {
      const auto symbol = static_cast<ScanSymbol>(each[n]);
      for (; long_runs[n] > 0; --long_runs[n]) *out++ = (symbol & k_table_mask) | k_sixteen_zeros;
      *out++ = symbol;
    }
  }
  const auto join = [&](auto vector) {
    std::int32_t each[hn::MaxLanes(d)];
    hn::StoreU(vector, d, each);
    std::uint32_t all = 0;
    for (const std::int32_t value : each) all |= static_cast<std::uint32_t>(value);
    return all;
  };
  largest.dc |= join(all_dc);
  largest.ac |= join(all_ac);
  return static_cast<std::size_t>(out - first);
}

void find_magnitudes(const std::int16_t* blocks, std::size_t count, std::uint32_t bit, std::uint64_t* masks) {
  for (std::size_t i = 0; i < count; ++i) masks[i] = mask_of_block(blocks + i * 64, static_cast<int>(bit));
}

}  // namespace

const SymbolKernels& symbol_kernels_of_target() {
  static constexpr SymbolKernels k_kernels = {.count_long_runs = count_long_runs,
                                              .collect = collect,
                                              .make_symbols = make_symbols,
                                              .find_magnitudes = find_magnitudes};
  return k_kernels;
}

}  // namespace bale::image_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bale::image_detail {

HWY_EXPORT(symbol_kernels_of_target);

const SymbolKernels& symbol_kernels() { return HWY_DYNAMIC_DISPATCH(symbol_kernels_of_target)(); }

}  // namespace bale::image_detail
#endif
