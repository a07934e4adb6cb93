#include "bale/formats/image/jpeg/transcode/coefficient_planes.hpp"

#include <algorithm>

#include "bale/formats/base/math/rounding.hpp"

namespace bale::image_detail {

void CoefficientPlanes::open(const BaselineFrame& frame) {
  num_components_ = frame.num_components;
  std::size_t size = 0;
  for (std::uint32_t i = 0; i < num_components_; ++i) {
    const BaselineComponent& component = frame.components[i];
    planes_[i] = {.across = frame.mcus_across * component.blocks_across,
                  .down = frame.mcus_down * component.blocks_down,
                  .real_across = divide_up(component.width, 8u),
                  .real_down = divide_up(component.height, 8u),
                  .mcu_across = component.blocks_across,
                  .mcu_down = component.blocks_down};
    size += planes_[i].row_size() * frame.mcus_down;
  }
  auto* at = reinterpret_cast<std::int16_t*>(memory_.get(size * sizeof(std::int16_t)));
  for (std::uint32_t i = 0; i < num_components_; ++i) {
    planes_[i].blocks = at;
    at += planes_[i].row_size() * frame.mcus_down;
  }
}

void CoefficientPlanes::clear_row(std::uint32_t mcu_row) {
  for (const Plane& plane : planes()) std::ranges::fill(plane.row(mcu_row), std::int16_t{0});
}

bool CoefficientPlanes::fill_mcus(std::uint32_t mcu_row) {
  bool changed = false;
  for (const Plane& plane : planes()) {
    const std::uint32_t first_row = mcu_row * plane.mcu_down;
    for (std::uint32_t row = first_row; row < first_row + plane.mcu_down; ++row) {
      const bool is_real = row < plane.real_down;
      for (std::uint32_t column = is_real ? plane.real_across : 0; column < plane.across; ++column) {
        // The first row and the first column of an MCU are always real.
        const bool is_first = column % plane.mcu_across == 0;
        const std::int16_t dc =
            is_first ? *plane.block(column + plane.mcu_across - 1, row - 1) : *plane.block(column - 1, row);
        std::array<std::int16_t, 64> filling{dc};
        std::int16_t* const block = plane.block(column, row);
        changed = changed || !std::equal(filling.begin(), filling.end(), block);
        std::ranges::copy(filling, block);
      }
    }
  }
  return changed;
}

CoefficientRows CoefficientPlanes::rows(std::uint32_t mcu_row) const {
  CoefficientRows rows;
  for (std::size_t i = 0; i < num_components_; ++i) {
    rows[i] = {.coefficients = planes_[i].row(mcu_row).data(), .blocks_across = planes_[i].across};
  }
  return rows;
}

}  // namespace bale::image_detail
