// The Huffman coding of the scans of a progressive JPEG (T.81, annex G) with the codes of a file; internal.
//
// The standard leaves to an encoder where a run of blocks without new coefficients ends. Here it ends as in libjpeg
// (jcphuff.c): after 32,767 blocks, or when more than 937 bits of corrections wait for its end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bale/formats/image/jpeg/decode/progressive_scans.hpp"
#include "bale/formats/image/jpeg/transcode/bit_writer.hpp"
#include "bale/formats/image/jpeg/transcode/coefficient_planes.hpp"
#include "bale/formats/image/jpeg/transcode/scan_symbols.hpp"

namespace bale::image_detail {

/// Writes all scans at once, row of MCUs by row of MCUs. For one thread at a time.
class ProgressiveEncoder {
 public:
  /// Begins an image. `zeros`: bytes that codes leave unfilled are filled with zeros.
  void open(bool zeros);
  /// Adds the current scan and its codes. False if there cannot be such codes.
  bool add_scan(const ProgressiveScans& scans);
  /// Writes the next row of MCUs of all scans: the first row of `planes`, in zigzag order.
  void add_row(const CoefficientPlanes& planes);
  /// After the last row: appends the data of a scan. False if one of its symbols has no code.
  bool finish(std::size_t scan, std::vector<std::byte>& out);

 private:
  /// Up to 63 bits.
  struct FewBits {
    std::uint64_t bits = 0;
    std::uint32_t count = 0;
  };
  struct Scan {
    ScanHeader header;
    std::array<OptimalCodes, 3> codes;  // by component of the scan
    std::vector<std::byte> done;        // up to the last restart
    std::vector<std::uint8_t> raw;      // after it, without byte stuffing
    BitWriter writer;
    bool has_every_code = true;
    std::array<std::int32_t, 3> predictions{};
    std::uint32_t restart_interval = 0;  // in MCUs, or blocks if the scan has one component; 0 for never
    std::uint32_t units_to_restart = 0;
    std::uint32_t next_restart = 0;
    std::uint32_t run = 0;               // blocks at whose end there is nothing but corrections: T.81 calls it EOBRUN
    std::vector<FewBits> corrections{};  // of these blocks
    std::uint32_t num_corrections = 0;

    void make_room();
    void put(const FewBits& few);
    void put_symbol(std::size_t component, std::uint32_t symbol, std::uint32_t value = 0, std::uint32_t size = 0);
    void put_value(std::size_t component, std::uint32_t run_before, std::int32_t value);
    void put_dc(std::size_t component, std::int32_t value);
    void put_first(const std::int16_t* block, std::uint64_t nonzero);
    void put_refinement(const std::int16_t* block, std::uint64_t found, std::uint64_t known);
    FewBits corrections_of(const std::int16_t* block, std::uint64_t which) const;
    void end_block(const FewBits& corrected);
    void end_run();
    void end_segment(bool zeros, std::vector<std::byte>& out);
  };

  void find_magnitudes(const CoefficientPlanes& planes);
  void begin_unit(Scan& scan) const;
  void add_mcus(Scan& scan, const CoefficientPlanes& planes) const;
  void add_blocks(Scan& scan, const CoefficientPlanes::Plane& plane) const;

  bool zeros_ = false;
  std::uint32_t mcu_row_ = 0;
  std::vector<Scan> scans_;
  std::uint32_t most_low_ = 0;
  /// By component, bit and block of the row: which coefficients have a magnitude of 1 << bit or more.
  std::array<std::vector<std::uint64_t>, 3> magnitudes_;
};

}  // namespace bale::image_detail
