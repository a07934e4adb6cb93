// The Huffman decoding of the scans of a progressive JPEG (T.81, annex G); internal.
//
// Coefficients are stored for the blocks of a rectangle only. Of all blocks down to its last row, a mask says which
// coefficients are not zero: so a run of zeros is found by counting bits, and the correction bits of a block outside
// the rectangle are skipped at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bale/formats/image/jpeg/decode/progressive_scans.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_frame.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_huffman.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_segment.hpp"
#include "bale/formats/image/jpeg/entropy/coefficient_rows.hpp"

namespace bale::image_detail {

/// The blocks of one component.
struct BlockPlane {
  // All of them, without those that only fill MCUs.
  std::uint32_t blocks_across = 0;
  std::uint32_t blocks_down = 0;
  // Those of an MCU.
  std::uint32_t mcu_across = 1;
  std::uint32_t mcu_down = 1;
  // Those whose coefficients are stored, in rows of `stored_across`.
  std::uint32_t first_column = 0;
  std::uint32_t end_column = 0;
  std::uint32_t first_row = 0;
  std::uint32_t end_row = 0;
  std::size_t stored_across = 0;
  std::int16_t* coefficients = nullptr;
  /// Bit 63 - k of a block's mask: its coefficient with zigzag index k is not zero. So what comes first is on top, as
  /// in the data. Rows up to `end_row`.
  std::vector<std::uint64_t> masks;

  bool stores(std::uint32_t column, std::uint32_t row) const {
    return row >= first_row && row < end_row && column >= first_column && column < end_column;
  }
};

class ProgressiveEntropy {
 public:
  /// Begins an image, whose planes must outlive the decoding. `plain` is for
  /// tests: no instructions that only some CPUs have.
  void open(const BaselineFrame& frame, std::span<BlockPlane> planes, BlockOrder order, bool plain);

  /// Decodes the current scan down to the last row that is stored. False if libjpeg must decode the image.
  bool decode(const ProgressiveScans& scans);
  /// After decode(): the marker after the scan's data, and the bytes after the marker.
  std::uint32_t marker() const { return segment_.marker(); }
  Bytes rest() const { return segment_.rest(); }
  /// Whether every byte of the scans up to now was read. Only if all rows of the image are stored.
  bool read_every_byte() const { return read_every_byte_; }

 private:
  /// What decoding changes for every symbol.
  struct Cursor {
    BitWindow in;
    std::uint32_t blocks_to_skip = 0;  // T.81 calls it EOBRUN
  };
  /// Consecutive blocks of a row.
  struct Run {
    BlockPlane* plane = nullptr;
    std::uint32_t row = 0;
    std::uint32_t first = 0;
    std::uint32_t end = 0;
  };
  struct Variants;

  bool build_tables(const ProgressiveScans& scans);
  bool decode_dc(const ScanHeader& scan);
  bool decode_ac(const ScanHeader& scan);
  bool decode_dc_of_mcus(const ScanHeader& scan);
  bool dc_mcu(const ScanHeader& scan, std::uint32_t mcu_row, std::uint32_t mcu);
  bool dc_block(const ScanHeader& scan, std::uint32_t i, std::int16_t* to);
  template <bool k_refine, bool k_bmi2>
  [[gnu::always_inline]] bool ac_blocks(const ScanHeader& scan, const Run& run);
  [[gnu::always_inline]] bool symbol(Cursor& at, SymbolTable::Entry& entry) const;
  [[gnu::always_inline]] bool first_block(const ScanHeader& scan, Cursor& at, std::int16_t* to,
                                          std::uint64_t& mask) const;
  template <bool k_bmi2>
  [[gnu::always_inline]] bool refine_block(const ScanHeader& scan, Cursor& at, std::int16_t* to,
                                           std::uint64_t& mask) const;
  template <bool k_bmi2>
  [[gnu::always_inline]] static std::uint64_t corrections(std::uint64_t which, BitWindow& in);
  std::int16_t* block(const BlockPlane& plane, std::uint32_t column, std::uint32_t row) const;
  void start_segment();
  bool restart();
  std::uint32_t begin_units(std::uint32_t wanted);
  bool ends_well();

  std::span<BlockPlane> planes_{};
  std::uint32_t mcus_across_ = 0;
  std::uint32_t end_mcu_row_ = 0;
  std::uint32_t restart_interval_ = 0;
  const std::uint16_t* places_ = nullptr;  // offsets in a block, by bit of a mask
  bool has_bmi2_ = false;
  std::array<SymbolTable, 3> tables_;
  SegmentReader segment_;
  const std::uint8_t* limit_ = nullptr;  // if the cursor is after it, too much was read
  Cursor cursor_;
  std::array<std::int32_t, 3> predictions_{};
  std::uint32_t units_to_restart_ = 0;  // MCUs, or blocks if the scan has one component
  std::uint32_t next_restart_ = 0;
  bool read_every_byte_ = true;
};

}  // namespace bale::image_detail
