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
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
#include "bale/formats/image/simd/pack_blocks-inl.hpp"
#endif

HWY_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {

namespace {

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
constexpr bool k_bmi2 = true;
#else
constexpr bool k_bmi2 = false;
#endif

// A read takes nine bytes. A block may begin at the end of the row.
constexpr std::uint64_t k_read_bytes = 9;
static_assert((k_most_bits + 7) / 8 + k_read_bytes <= k_plane_padding);

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

bool look_at(const std::int16_t* block, BlockBits& bits) {
  bits = {};
  std::uint64_t nonzero = 0;
  for (std::size_t i = 1; i < 64; ++i) {
    const std::uint64_t place = std::uint64_t{1} << i;
    const auto magnitude = static_cast<std::uint32_t>(block[i] < 0 ? -block[i] : block[i]);
    if (magnitude >> k_max_ac_bits != 0) return false;
    for (std::size_t b = 0; b < k_max_ac_bits; ++b) bits.magnitudes[b] |= (magnitude >> b & 1) != 0 ? place : 0;
    if (block[i] < 0) bits.signs |= place;
    if (block[i] != 0) nonzero |= place;
  }
  std::uint32_t most = k_max_ac_bits;
  while (most > 0 && bits.magnitudes[most - 1] == 0) --most;
  bits.number = plane_class(most, nonzero);
  return true;
}

#else

/// A byte for each coefficient of a block. Not a std::array, whose constructor is not one of the target's functions.
constexpr std::size_t k_lanes8 = hn::MaxLanes(D8());
constexpr std::size_t k_num_vectors = 64 / k_lanes8;
using BlockBytes = V8[k_num_vectors];

/// Rows of coefficients, so that bytes_of() of two such vectors has all rows in their order.
HWY_ATTR HWY_INLINE V16 load_rows(const std::int16_t* block, std::size_t part, std::size_t half) {
  const D16 d16;
#if HWY_MAX_BYTES == 32
  const hn::Half<D16> row;
  const std::int16_t* const first = block + part * k_lanes8 + half * 8;
  return hn::Combine(d16, hn::Load(row, first + 16), hn::Load(row, first));
#else
  return hn::Load(d16, block + part * k_lanes8 + half * k_lanes8 / 2);
#endif
}

/// Of values below 256.
HWY_ATTR HWY_INLINE V8 bytes_of(V16 low, V16 high) {
#if HWY_ARCH_X86 && HWY_MAX_BYTES == 64
  return V8{
      _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi16_epi8(low.raw)), _mm512_cvtepi16_epi8(high.raw), 1)};
#else
  return pack_blocks(low, high);
#endif
}

/// The places of the bytes that have one of these bits.
HWY_ATTR HWY_INLINE std::uint64_t places_of(const BlockBytes& bytes, std::uint8_t bits) {
  const D8 d8;
  std::uint64_t places = 0;
  for (std::size_t i = 0; i < k_num_vectors; ++i) {
    std::uint8_t mask[8] = {};
    hn::StoreMaskBits(d8, hn::Ne(hn::And(bytes[i], hn::Set(d8, bits)), hn::Zero(d8)), mask);
    std::uint64_t part;
    std::memcpy(&part, mask, sizeof(part));
    places |= part << (i * k_lanes8 & 63);
  }
  return places;
}

HWY_ATTR bool look_at(const std::int16_t* block, BlockBits& bits) {
  const D16 d16;
  const hn::RebindToUnsigned<D16> du16;
  const auto low_byte = hn::Set(d16, 0xFF);
  BlockBytes low;
  BlockBytes high;
  BlockBytes signs;
  for (std::size_t i = 0; i < k_num_vectors; ++i) {
    V16 values[2] = {load_rows(block, i, 0), load_rows(block, i, 1)};
    V16 above[2];
    V16 sign[2];
    for (std::size_t half = 0; half < 2; ++half) {
      // The smallest value stays negative: it has bits that are too high.
      const V16 magnitude = hn::Abs(values[half]);
      above[half] = hn::BitCast(d16, hn::ShiftRight<8>(hn::BitCast(du16, magnitude)));
      sign[half] = hn::BitCast(d16, hn::ShiftRight<15>(hn::BitCast(du16, values[half])));
      values[half] = hn::And(magnitude, low_byte);
    }
    low[i] = bytes_of(values[0], values[1]);
    high[i] = bytes_of(above[0], above[1]);
    signs[i] = bytes_of(sign[0], sign[1]);
  }
  constexpr std::uint64_t k_no_dc = ~std::uint64_t{1};
  constexpr std::uint8_t k_too_high = 0xFF << (k_max_ac_bits - 8) & 0xFF;
  if ((places_of(high, k_too_high) & k_no_dc) != 0) return false;
  std::uint64_t nonzero = 0;
  std::uint32_t most = 0;
  for (std::size_t b = 0; b < k_max_ac_bits; ++b) {
    const auto bit = static_cast<std::uint8_t>(1u << b % 8);
    bits.magnitudes[b] = places_of(b < 8 ? low : high, bit) & k_no_dc;
    nonzero |= bits.magnitudes[b];
    most = bits.magnitudes[b] != 0 ? static_cast<std::uint32_t>(b + 1) : most;
  }
  bits.signs = places_of(signs, 1) & k_no_dc;
  bits.number = plane_class(most, nonzero);
  return true;
}

#endif

HWY_ATTR void put_blocks(std::span<const BlockBits> all, std::span<const std::uint32_t> blocks,
                         std::array<BitsOut, k_num_planes>& planes) {
  for (const std::uint32_t number : blocks) {
    const BlockBits& block = all[number];
    const std::uint32_t kind = k_plane_classes.kind[block.number];
    const std::uint32_t bits = kind > k_max_ac_bits ? kind - k_max_ac_bits : kind;
    // [j]: which coefficients have j bits and more.
    std::array<std::uint64_t, k_max_ac_bits + 2> reaching;
    reaching[bits + 1] = 0;
    for (std::uint32_t j = bits; j > 0; --j) reaching[j] = reaching[j + 1] | block.magnitudes[j - 1];
    planes[0].put(extract_bits<k_bmi2>(reaching[1], k_plane_classes.reach[block.number]),
                  k_plane_classes.mask_bits[block.number]);
    auto count = static_cast<std::uint32_t>(std::popcount(reaching[1]));
    planes[1].put(extract_bits<k_bmi2>(block.signs, reaching[1]), count);
    for (std::uint32_t j = 2; j <= bits; ++j) {
      const std::uint64_t reaches = extract_bits<k_bmi2>(reaching[j], reaching[j - 1]);
      const std::uint64_t below = extract_bits<k_bmi2>(block.magnitudes[j - 2], reaching[j]);
      const std::uint32_t before = count;
      count = static_cast<std::uint32_t>(std::popcount(reaching[j]));
      if (before + count < 64) [[likely]] {
        planes[j].put(reaches | below << before, before + count);
      } else {
        planes[j].put(reaches, before);
        planes[j].put(below, count);
      }
    }
  }
}

/// A group of differences, of `width` bits each, added to the value before the first.
HWY_INLINE void add_plain_group(const std::uint8_t* data, std::uint64_t at, std::uint32_t width, std::uint32_t& value,
                                std::int16_t* dc) {
  for (std::uint32_t half = 0; half < 2; ++half, at += 4 * width) {
    std::uint64_t word = all_bits_at(data, at);
    for (std::uint32_t j = 0; j < 4; ++j, word >>= width) {
      const auto difference = static_cast<std::uint32_t>(low_bits(word, width));
      value += (difference >> 1) ^ (0 - (difference & 1));
      *dc++ = static_cast<std::int16_t>(value);
    }
  }
}

HWY_ATTR bool add_dc(DcDifferences& from, std::int16_t first, std::size_t count, std::int16_t* dc) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  const bool is_plain = has_slow_deposits();
  const hn::CappedTag<std::uint16_t, 8> d;
  const hn::Repartition<std::uint64_t, decltype(d)> d64;
  auto before = hn::Set(d, static_cast<std::uint16_t>(first));
#endif
  std::uint32_t value = static_cast<std::uint16_t>(first);
  for (std::size_t begin = 0; begin < count; begin += k_dc_group, ++from.group, dc += k_dc_group) {
    const std::uint32_t width = from.widths[from.group / 2] >> (from.group % 2 * 4) & 15;
    const std::uint64_t at = from.next;
    from.next += width * k_dc_group;
    if (from.next > from.end) return false;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
    if (!is_plain) {
      // Four differences in a word, one per 16 bits.
      const std::uint64_t places = ((std::uint64_t{1} << width) - 1) * 0x0001000100010001;
      const std::uint64_t low = deposit_bits<k_bmi2>(all_bits_at(from.data, at), places);
      const std::uint64_t high = deposit_bits<k_bmi2>(all_bits_at(from.data, at + 4 * width), places);
      const auto both = hn::BitCast(d, hn::InterleaveLower(d64, hn::Set(d64, low), hn::Set(d64, high)));
      const auto sign = hn::Sub(hn::Zero(d), hn::And(both, hn::Set(d, 1)));
      auto sum = hn::Xor(hn::ShiftRight<1>(both), sign);
      sum = hn::Add(sum, hn::ShiftLeftLanes<1>(d, sum));
      sum = hn::Add(sum, hn::ShiftLeftLanes<2>(d, sum));
      sum = hn::Add(hn::Add(sum, before), hn::ShiftLeftLanes<4>(d, sum));
      hn::StoreU(hn::BitCast(hn::RebindToSigned<decltype(d)>(), sum), hn::RebindToSigned<decltype(d)>(), dc);
      before = hn::Broadcast<7>(sum);
      continue;
    }
#endif
    add_plain_group(from.data, at, width, value, dc);
  }
  return true;
}

/// Copies numbers by registers of their size: a wide load of what was just stored in parts waits for it.
template <std::size_t k_count, typename From, typename To>
HWY_INLINE void copy_each(const From& from, To&& to) {
#pragma GCC unroll 16
  for (std::size_t i = 0; i < k_count; ++i) {
    std::uint64_t number = from[i];
    asm("" : "+r"(number));
    to[i] = number;
  }
}

/// Reads past a block that is not stored: nothing is put in place, what is set is only counted.
template <std::size_t k_bits, typename Read>
HWY_ATTR HWY_INLINE void pass_block(const std::uint8_t* data, std::array<std::uint64_t, k_bits + 1>& next,
                                    std::uint64_t mask_bits, Read read) {
  auto count = static_cast<std::uint64_t>(std::popcount(low_bits(all_bits_at(data, next[0]), mask_bits)));
  next[0] += mask_bits;
  next[1] += count;
#pragma GCC unroll 16
  for (std::size_t j = 2; j <= k_bits; ++j) {
    const auto reaching = static_cast<std::uint64_t>(std::popcount(low_bits(read(next[j]), count)));
    next[j] += count + reaching;
    count = reaching;
  }
}

/// Decodes `most` blocks at most, from this one on. Returns the one after them.
template <std::size_t k_bits, bool k_dense>
HWY_ATTR std::uint16_t decode_some(PlaneRow& row, std::uint16_t number, std::uint64_t most) {
  const std::uint8_t* const data = row.data;
  const auto read = [data](std::uint64_t at) { return k_dense ? all_bits_at(data, at) : bits_at(data, at); };
  const PlaneBlock* const all = row.blocks;
  const BlockOrder order = row.order;
  std::array<std::uint64_t, k_bits + 1> next;
  copy_each<k_bits + 1>(row.next, next);
  for (; number != k_no_block && most > 0; --most) {
    const PlaneBlock& block = all[number];
    number = block.next;
    const std::uint64_t mask_bits = k_plane_classes.mask_bits[block.number];
    if (block.to == nullptr) {
      pass_block<k_bits>(data, next, mask_bits, read);
      continue;
    }
    const std::uint64_t mask = deposit_bits<k_bmi2>(all_bits_at(data, next[0]), k_plane_classes.reach[block.number]);
    next[0] += mask_bits;
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
    std::int16_t* const to = block.to;
    const std::int16_t dc = block.dc;
    store_block<k_bits>(bits, signs, order, to);
    *to = dc;
  }
  copy_each<k_bits + 1>(next, row.next);
  return number;
}

/// How bits are put in place: by one instruction, in words of 57 bits or of 64, or by tables of shuffles.
enum class Way { deposits, dense_deposits, tables };

/// As many blocks at once as surely stay in memory that can be read; near its end one after the other.
template <std::size_t k_bits, Way k_way>
HWY_ATTR bool decode_bits(PlaneRow& row, std::uint16_t number) {
  while (number != k_no_block) {
    const std::uint64_t farthest = *std::max_element(row.next.begin(), row.next.begin() + k_bits + 1);
    if (farthest > row.end) return false;
    const std::uint64_t rest = row.readable_end - k_read_bytes * 8 - farthest;
    const std::uint64_t most = std::max<std::uint64_t>(rest / k_most_bits, 1);
    if constexpr (k_way == Way::tables) {
      number = decode_some_by_tables<k_bits>(row, number, most);
    } else {
      number = decode_some<k_bits, k_way == Way::dense_deposits>(row, number, most);
    }
  }
  return true;
}

HWY_ATTR bool decode_flat(PlaneRow& row, std::uint16_t number) {
  while (number != k_no_block) {
    const PlaneBlock& block = row.blocks[number];
    number = block.next;
    if (block.to == nullptr) continue;
    std::memset(block.to, 0, k_block_size * sizeof(*block.to));
    *block.to = block.dc;
  }
  return true;
}

template <Way k_way, Way k_dense_way, std::size_t... k_index>
HWY_ATTR bool decode_kind(PlaneRow& row, std::uint32_t kind, std::uint16_t first, std::index_sequence<k_index...>) {
  using Decode = bool (*)(PlaneRow&, std::uint16_t);
  static constexpr Decode k_decoders[] = {decode_flat, decode_bits<k_index + 1, k_way>...,
                                          decode_bits<k_index + 1, k_dense_way>...};
  return k_decoders[kind](row, first);
}

bool decode(PlaneRow& row, std::uint32_t kind, std::uint16_t first) {
  constexpr auto k_bits = std::make_index_sequence<k_max_ac_bits>();
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  if (!k_bmi2 || has_slow_deposits()) return decode_kind<Way::tables, Way::tables>(row, kind, first, k_bits);
#endif
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2)
  return decode_kind<Way::deposits, Way::dense_deposits>(row, kind, first, k_bits);
#endif
}

}  // namespace

const PlaneKernels& plane_kernels_of_target() {
  static constexpr PlaneKernels k_kernels = {
      .look_at = look_at, .put_blocks = put_blocks, .add_dc = add_dc, .decode = decode};
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
