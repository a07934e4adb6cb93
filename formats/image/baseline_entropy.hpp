// The Huffman decoding of a baseline scan, a row of MCUs at a time; internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "bale/formats/image/baseline_frame.hpp"
#include "bale/formats/image/baseline_huffman.hpp"
#include "bale/formats/image/baseline_segment.hpp"

namespace bale::image_detail {

/// Where the coefficients of one component's blocks go, of one row of MCUs. Blocks side by side lie in groups of
/// `group` (a power of two), the rows of a group's blocks one after the other: what SIMD reads at once. All zero before
/// they are written.
struct CoefficientRow {
  std::int16_t* coefficients = nullptr;
  /// For each block where its coefficients may end, in zigzag order: 1 where it has none but DC.
  std::uint8_t* ends = nullptr;
  std::size_t blocks_across = 0;  // blocks to a row of blocks, a multiple of the group
};

/// A range of a row's MCUs.
struct McuRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

class EntropyDecoder {
 public:
  /// Blocks will be stored in groups of 1 << `group_shift`. False where a table is not for us.
  /// `plain` is for tests: without instructions that not every CPU has.
  bool open(const BaselineFrame& frame, std::uint32_t group_shift, bool plain);

  /// Decodes the next row of MCUs and stores those of `stored`, which may be empty. False where libjpeg should be
  /// asked: after that nothing more can be decoded.
  bool decode_row(const std::array<CoefficientRow, 3>& rows, const McuRange& stored);

  /// After the last row that is needed: whether libjpeg, which reads ahead of what it decodes, would not have met the
  /// end of the bytes either, and at the image's bottom, whether the end-of-image marker is what follows.
  bool ends_well(bool at_bottom) const;

 private:
  /// Bits not yet used, at least `count` of them at the top; `next` is the byte after these.
  struct Bits {
    std::uint64_t bits = 0;
    std::uint32_t count = 0;
    const std::uint8_t* next = nullptr;
  };
  struct Block {
    const DcTable* dc = nullptr;
    const AcTable* ac = nullptr;
    std::uint32_t component = 0;
    std::uint32_t column = 0;
    std::uint32_t row = 0;
    std::uint32_t across = 1;  // blocks of the component to an MCU
  };
  struct Runs;

  bool decode_mcus(const std::array<CoefficientRow, 3>& rows, bool store, std::uint32_t first, std::uint32_t count);
  template <bool k_store>
  [[gnu::always_inline]] bool decode_run(const std::array<CoefficientRow, 3>& rows, std::uint32_t first,
                                         std::uint32_t count);
  template <bool k_store>
  [[gnu::always_inline]] static bool decode_block(Bits& in, const DcTable& dc, const AcTable& ac,
                                                  std::int32_t& prediction, std::int16_t* block, std::uint8_t* end,
                                                  const std::uint16_t* places);
  bool restart();
  void start_segment();
  std::size_t used_bits() const;

  std::array<DcTable, 3> dc_tables_;
  std::array<AcTable, 3> ac_tables_;
  std::array<Block, 6> blocks_;
  std::uint32_t num_blocks_ = 0;
  std::array<std::int32_t, 3> predictions_{};
  SegmentReader segment_;
  Bits in_;
  bool has_bmi2_ = false;
  std::uint32_t group_shift_ = 0;
  std::uint32_t mcus_across_ = 0;
  std::uint32_t restart_interval_ = 0;
  std::uint32_t mcus_to_restart_ = 0;
  std::uint32_t next_restart_ = 0;
};

}  // namespace bale::image_detail
