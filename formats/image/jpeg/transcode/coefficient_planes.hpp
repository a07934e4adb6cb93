// All coefficients of a JPEG, in zigzag order; internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "bale/formats/image/codec/aligned_memory.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_frame.hpp"
#include "bale/formats/image/jpeg/entropy/coefficient_rows.hpp"

namespace bale::image_detail {

/// Of each component the blocks in rows, those included that only fill MCUs. A block has 64 coefficients.
class CoefficientPlanes {
 public:
  struct Plane {
    std::int16_t* blocks = nullptr;
    // All blocks.
    std::uint32_t across = 0;
    std::uint32_t down = 0;
    // Those that hold samples of the image.
    std::uint32_t real_across = 0;
    std::uint32_t real_down = 0;
    // Those of an MCU.
    std::uint32_t mcu_across = 1;
    std::uint32_t mcu_down = 1;

    /// The number of coefficients in a row of MCUs.
    std::size_t row_size() const { return std::size_t{across} * mcu_down * 64; }
    std::int16_t* block(std::uint32_t column, std::uint32_t row) const {
      return blocks + (std::size_t{row} * across + column) * 64;
    }
    std::span<std::int16_t> row(std::uint32_t mcu_row) const { return {blocks + mcu_row * row_size(), row_size()}; }
  };

  /// Replaces the planes. The coefficients are not initialized.
  void open(const BaselineFrame& frame);
  void clear_row(std::uint32_t mcu_row);
  /// Gives the blocks of a row of MCUs that only fill them the values that libjpeg writes (jctrans.c): no AC, and the
  /// DC of the block before, in the order of the scan. False if they have them already.
  bool fill_mcus(std::uint32_t mcu_row);

  std::span<const Plane> planes() const { return {planes_.data(), num_components_}; }
  /// A row of MCUs as an entropy decoder stores it.
  CoefficientRows rows(std::uint32_t mcu_row) const;

 private:
  std::array<Plane, 3> planes_;
  std::uint32_t num_components_ = 0;
  AlignedMemory memory_;
};

}  // namespace bale::image_detail
