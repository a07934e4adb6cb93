// RegionPixels: makes the pixels of a rectangle from the coefficients of a JPEG, in libjpeg-turbo's arithmetic;
// internal.
//
// Rows of MCUs are given from top to bottom, from first_mcu_row() to end_mcu_row(). Samples of two of them are kept,
// because chroma filters look at neighbors. For one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "bale/formats/image/codec/reused_memory.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_frame.hpp"
#include "bale/formats/image/jpeg/entropy/coefficient_rows.hpp"
#include "bale/formats/image/jpeg/pixels/baseline_kernels.hpp"
#include "bale/formats/image/region.hpp"

namespace bale::image_detail {

class RegionPixels {
 public:
  /// Borrows from `frame`, which must outlive the use. False if the arithmetic does not cover a quantization table. The
  /// region must be inside the image.
  bool prepare(const BaselineFrame& frame, const Region& region, const BaselineKernels& kernels);

  /// The MCUs of a row whose coefficients are needed, and the rows of MCUs.
  const McuRange& mcus() const { return mcus_; }
  std::uint32_t first_mcu_row() const { return first_mcu_row_; }
  std::uint32_t end_mcu_row() const { return end_mcu_row_; }
  /// The number of blocks that a row of blocks of that component must have memory for.
  std::size_t blocks_across(std::size_t component) const;

  /// Begins at the top. `rgb` gets the region's rows, `region.width` * 3 bytes each.
  void start(std::uint8_t* rgb);
  /// Makes the pixels of a row of MCUs, and sets its coefficients to zero. False if a value is so large that decoders
  /// may differ.
  bool finish_row(std::uint32_t mcu_row, const CoefficientRows& coefficients);

 private:
  /// The samples of one component in two rows of MCUs.
  struct Plane {
    std::uint8_t* samples = nullptr;  // of the first column that is kept
    std::size_t stride = 0;
    std::size_t num_rows = 0;
    std::uint32_t first_column = 0;
    std::uint32_t rows_of_mcu = 8;
    // Rows that the region's pixels need.
    std::uint32_t first_row = 0;
    std::uint32_t end_row = 0;

    std::uint8_t* row(std::uint32_t y) const { return samples + y % num_rows * stride; }
  };

  bool make_samples(std::uint32_t mcu_row, const CoefficientRows& coefficients);
  void pad_edges(const Plane& plane, const BaselineComponent& component, std::uint32_t mcu_row);
  std::uint32_t rows_ready(std::uint32_t mcu_row) const;
  void write_rows(std::uint32_t end);
  void write_row(std::uint32_t y, std::uint8_t* to);
  const std::uint8_t* chroma_row(std::uint32_t y, std::size_t component);

  const BaselineFrame* frame_ = nullptr;
  const BaselineKernels* kernels_ = nullptr;
  Region region_;
  McuRange mcus_;
  std::uint32_t first_mcu_row_ = 0;
  std::uint32_t end_mcu_row_ = 0;
  std::uint8_t* rgb_ = nullptr;
  std::uint32_t next_row_ = 0;
  std::array<Quantizers, 3> quantizers_;
  std::array<Plane, 3> planes_;
  std::array<std::uint8_t*, 2> wide_chroma_{};
  std::uint8_t* last_pixels_ = nullptr;
  AlignedMemory memory_;
};

}  // namespace bale::image_detail
