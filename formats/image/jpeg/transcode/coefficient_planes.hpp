// All coefficients of a JPEG, in zigzag order; internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bale/formats/image/codec/reused_memory.hpp"
#include "bale/formats/image/jpeg/decode/progressive_entropy.hpp"
#include "bale/formats/image/jpeg/decode/progressive_scans.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_entropy.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_frame.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_seek_points.hpp"
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

// Reads all coefficients of a JPEG by our own entropy decoders; internal.

/// It accepts only images that libjpeg reads without a warning, and that end with their end-of-image marker.
/// For one thread at a time.
class CoefficientReader {
 public:
  /// Reads a baseline JPEG row by row: begin_baseline(), then next_row() for each row of MCUs. False if it is left to
  /// libjpeg, and so in the functions below. Blocks that only fill MCUs get what the file has. In natural order no
  /// symbols are counted.
  bool begin_baseline(const BaselineFrame& frame, CoefficientPlanes& planes, bool plain,
                      BlockOrder order = BlockOrder::zigzag);
  bool next_row(CoefficientPlanes& planes, std::uint32_t mcu_row);
  /// After the last row.
  bool ends_exactly() const { return baseline_.ends_exactly(); }
  std::optional<Bytes> after_end() const { return baseline_.after_end(); }
  /// The symbols of the file by table, with those of blocks that only fill MCUs.
  void add_counts(bool of_luma, SymbolCounts& dc, SymbolCounts& ac) const { baseline_.add_counts(of_luma, dc, ac); }
  /// The number of bits of a scan without restarts, without byte stuffing.
  std::uint64_t num_bits() const { return baseline_.used_bits(); }

  /// Reads a progressive JPEG. It must give all bits of the coefficients that libjpeg would estimate. `plain` is for
  /// tests. Returns what follows the end of the image.
  std::optional<Bytes> read_progressive(const jpeg_decompress_struct& info, const BaselineFrame& frame,
                                        CoefficientPlanes& planes, bool plain, BlockOrder order = BlockOrder::zigzag);
  /// Of what was read last.
  const ProgressiveScans& scans() const { return scans_; }
  /// The segments between its scans, and the end-of-image marker.
  const std::vector<Bytes>& between_scans() const { return between_scans_; }

  /// Whether a baseline JPEG that has these points has the coefficients of `planes`, and ends exactly.
  bool compare(const BaselineFrame& frame, const CoefficientPlanes& planes, std::span<const SeekPoint> points,
               bool plain);

 private:
  bool take_equal_row(const CoefficientPlanes& planes, std::uint32_t mcu_row, const CoefficientRows& found);

  EntropyDecoder baseline_;
  ProgressiveScans scans_;
  std::vector<Bytes> between_scans_;
  ProgressiveEntropy progressive_;
  std::array<BlockPlane, 3> block_planes_;
  AlignedMemory rows_;
};

}  // namespace bale::image_detail
