// Tables of values. Included once per target by change_colors.cpp.
#if defined(BALE_POINT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BALE_POINT_INL
#undef BALE_POINT_INL
#else
#define BALE_POINT_INL
#endif

#include "bale/formats/image/color/color_vectors-inl.hpp"

BALE_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {
namespace {

/// Replaces whole vectors of values by change(values). Returns the number of values that this were.
template <typename Change>
HWY_INLINE std::size_t change_vectors(std::uint8_t* values, std::size_t count, const Change& change) {
  std::size_t i = 0;
  for (; i + hn::Lanes(D8()) <= count; i += hn::Lanes(D8())) {
    hn::StoreU(change(hn::LoadU(D8(), values + i)), D8(), values + i);
  }
  return i;
}

#if BALE_AVX3_DL

HWY_INLINE std::size_t change_vectors(const PointChange& change, std::size_t channel, std::uint8_t* values,
                                      std::size_t count) {
  const std::uint8_t* const table = change.tables[channel].data();
  return change_vectors(values, count, [&](V8 v) { return look_up(table, v); });
}

#else

/// table[value] of every lane: the low half of a value is looked up in `Count` rows of 16 entries, the high half
/// chooses the row, one bit at a time.
template <std::size_t Count>
HWY_INLINE V8 look_up_rows(const std::uint8_t* table, V8 low, V8 values) {
  if constexpr (Count == 1) {
    return look_up_16(table, low);
  } else {
    constexpr std::size_t k_half = Count / 2;
    const auto bit = hn::And(values, bytes(k_half * 16));
    return hn::IfThenElse(hn::Eq(bit, hn::Zero(D8())), look_up_rows<k_half>(table, low, values),
                          look_up_rows<k_half>(table + k_half * 16, low, values));
  }
}

alignas(16) constexpr std::uint8_t k_bits[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};

/// Bit value % 8 of the byte value / 8: 1 or 0.
HWY_INLINE V8 look_up_bit(const std::uint8_t* table, V8 values) {
  const V8 row = upper_bits<3>(values);
  const V8 eight = if_high_bit(values, look_up_16(table + 16, row), look_up_16(table, row));
  return hn::Min(hn::And(eight, look_up_16(k_bits, hn::And(values, bytes(15)))), bytes(1));
}

HWY_INLINE V16 on_line(const LinearTable& line, V16 value_256) {
  const V16 sum = hn::SaturatedAdd(hn::MulHigh(value_256, words(line.slope)), words(line.add));
  return hn::Min(hn::ShiftRight<6>(hn::SaturatedSub(sum, words(line.subtract))), words(255));
}

HWY_INLINE V8 look_up_line(const LinearTable& line, V8 values) {
  const V16 pairs = hn::BitCast(D16(), values);
  const Words result{on_line(line, hn::ShiftLeft<8>(pairs)), on_line(line, hn::And(pairs, words(0xFF00)))};
  return hn::Add(join(result), look_up_bit(line.increments.data(), values));
}

HWY_INLINE std::size_t change_vectors(const PointChange& change, std::size_t channel, std::uint8_t* values,
                                      std::size_t count) {
  if (change.num_lines == 1) {
    return change_vectors(values, count, [&](V8 v) { return look_up_line(change.lines[0], v); });
  }
  if (change.num_lines == 2) {
    return change_vectors(values, count,
                          [&](V8 v) { return look_up_line(change.lines[1], look_up_line(change.lines[0], v)); });
  }
  const std::uint8_t* const table = change.tables[channel].data();
  return change_vectors(values, count, [&](V8 v) { return look_up_rows<16>(table, hn::And(v, bytes(15)), v); });
}

#endif

void change_values(const PointChange& change, std::size_t channel, std::uint8_t* values, std::size_t count) {
  for (std::size_t i = change_vectors(change, channel, values, count); i < count; ++i) {
    values[i] = change.tables[channel][values[i]];
  }
}

}  // namespace
}  // namespace bale::image_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
