// Reads all coefficients of a JPEG by our own entropy decoders; internal.
#pragma once

#include <vector>

#include "bale/formats/image/jpeg/decode/progressive_entropy.hpp"
#include "bale/formats/image/jpeg/decode/progressive_scans.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_entropy.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_frame.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_seek_points.hpp"
#include "bale/formats/image/jpeg/transcode/coefficient_planes.hpp"

namespace bale::image_detail {

/// It accepts only images that libjpeg reads without a warning, and that end with their end-of-image marker.
/// For one thread at a time.
class CoefficientReader {
 public:
  /// Reads a baseline JPEG row by row: begin_baseline(), then next_row() for each row of MCUs. False if it is left to
  /// libjpeg, and so in the functions below. Blocks that only fill MCUs get what the file has.
  bool begin_baseline(const BaselineFrame& frame, CoefficientPlanes& planes, bool plain);
  bool next_row(CoefficientPlanes& planes, std::uint32_t mcu_row);
  /// After the last row.
  bool ends_exactly() const { return baseline_.ends_exactly(); }
  /// The symbols of the file by table, with those of blocks that only fill MCUs.
  void add_counts(bool of_luma, SymbolCounts& dc, SymbolCounts& ac) const { baseline_.add_counts(of_luma, dc, ac); }
  /// The number of bits of a scan without restarts, without byte stuffing.
  std::uint64_t num_bits() const { return baseline_.used_bits(); }

  /// Reads a progressive JPEG. It must give all bits of the coefficients that libjpeg would estimate, and have no
  /// metadata after the first scan.
  bool read_progressive(const jpeg_decompress_struct& info, const BaselineFrame& frame, CoefficientPlanes& planes,
                        bool plain);

  /// Whether a baseline JPEG that has these points has the coefficients of `planes`, and ends exactly.
  bool compare(const BaselineFrame& frame, const CoefficientPlanes& planes, std::span<const SeekPoint> points,
               bool plain);

 private:
  bool take_equal_row(const CoefficientPlanes& planes, std::uint32_t mcu_row, const CoefficientRows& found);

  EntropyDecoder baseline_;
  ProgressiveScans scans_;
  ProgressiveEntropy progressive_;
  std::array<BlockPlane, 3> block_planes_;
  AlignedMemory rows_;
};

}  // namespace bale::image_detail
