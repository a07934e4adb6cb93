#include "bale/formats/image/color/multipliers.hpp"

namespace bale::image_detail {
namespace {

constexpr Multiplier in_all_lanes(unsigned value) {
  Multiplier multiplier{};
  for (std::uint16_t& lane : multiplier) lane = static_cast<std::uint16_t>(value);
  return multiplier;
}

}  // namespace

constexpr LumaWeights k_luma_upper{in_all_lanes(19595 >> 8), in_all_lanes(38470 >> 8), in_all_lanes(7471 >> 8)};
constexpr LumaWeights k_luma_lower{in_all_lanes(19595 & 255), in_all_lanes(38470 & 255), in_all_lanes(7471 & 255)};
constexpr Multiplier k_85 = in_all_lanes(85);

}  // namespace bale::image_detail
