// This file is built once per instruction set.
#include <algorithm>

#include "bale/formats/image/point/point_tables.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bale/formats/image/point/apply_tables.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bale::image_detail {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR  // whose vectors are one byte: no table fits
const hn::CappedTag<std::uint8_t, 64> k_lanes;
using Lanes = hn::Vec<decltype(k_lanes)>;

/// table[value] of every lane: the low half of a value is looked up in `Count` rows of 16 entries, the high half
/// chooses the row, one bit at a time.
template <std::size_t Count>
Lanes look_up(const std::uint8_t* table, Lanes low, Lanes values) {
  if constexpr (Count == 1) {
    return hn::TableLookupBytes(hn::LoadDup128(k_lanes, table), low);
  } else {
    constexpr std::size_t k_half = Count / 2;
    const auto bit = hn::And(values, hn::Set(k_lanes, static_cast<std::uint8_t>(k_half * 16)));
    return hn::IfThenElse(hn::Eq(bit, hn::Zero(k_lanes)), look_up<k_half>(table, low, values),
                          look_up<k_half>(table + k_half * 16, low, values));
  }
}

Lanes look_up(const PointTable& table, Lanes values) {
  return look_up<16>(table.data(), hn::And(values, hn::Set(k_lanes, std::uint8_t{15})), values);
}
#endif

}  // namespace

/// One table for all channels.
void apply_one(const PointTables& tables, std::uint8_t* rgb, std::size_t num_pixels) {
  const std::size_t count = num_pixels * 3;
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  for (; i + hn::Lanes(k_lanes) <= count; i += hn::Lanes(k_lanes)) {
    hn::StoreU(look_up(tables[0], hn::LoadU(k_lanes, rgb + i)), k_lanes, rgb + i);
  }
#endif
  for (; i < count; ++i) rgb[i] = tables[0][rgb[i]];
}

void apply_three(const PointTables& tables, std::uint8_t* rgb, std::size_t num_pixels) {
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  for (; i + hn::Lanes(k_lanes) <= num_pixels; i += hn::Lanes(k_lanes)) {
    Lanes red, green, blue;
    hn::LoadInterleaved3(k_lanes, rgb + i * 3, red, green, blue);
    hn::StoreInterleaved3(look_up(tables[0], red), look_up(tables[1], green), look_up(tables[2], blue), k_lanes,
                          rgb + i * 3);
  }
#endif
  for (; i < num_pixels; ++i) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      rgb[i * 3 + channel] = tables[channel][rgb[i * 3 + channel]];
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace bale::image_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bale::image_detail {
namespace {

HWY_EXPORT(apply_one);
HWY_EXPORT(apply_three);

}  // namespace

void apply_tables(const PointTables& tables, std::uint8_t* rgb, std::size_t num_pixels) {
  if (tables[0] == tables[1] && tables[1] == tables[2]) {
    return HWY_DYNAMIC_DISPATCH(apply_one)(tables, rgb, num_pixels);
  }
  HWY_DYNAMIC_DISPATCH(apply_three)(tables, rgb, num_pixels);
}

}  // namespace bale::image_detail
#endif
