// The Huffman coding of a baseline scan (T.81, F.1.2) with codes that are the shortest for it; internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bale/formats/image/codec/reused_memory.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_seek_points.hpp"
#include "bale/formats/image/jpeg/library/jpeg_guard.hpp"
#include "bale/formats/image/jpeg/transcode/bit_writer.hpp"
#include "bale/formats/image/jpeg/transcode/scan_symbols.hpp"

namespace bale::image_detail {

class BaselineEncoder {
 public:
  /// Makes the codes. False if libjpeg refuses to. `symbols` must outlive write(). `num_tables`: 2 of gray images, 4
  /// of others. `plain` is for tests: no instructions that only some CPUs have.
  bool open(const ScanSymbols& symbols, std::size_t num_tables, bool plain);
  /// Takes the codes of a file: DC and AC of luma, and of chroma, which gray images do not have. False if `symbols` has
  /// some that these have no code for.
  bool open(const ScanSymbols& symbols, std::span<const JHUFF_TBL* const> tables);
  const OptimalCodes& codes(ScanTable table) const { return codes_[static_cast<std::size_t>(table)]; }
  /// The number of bits of the scan, without byte stuffing.
  std::uint64_t num_bits() const { return num_bits_; }

  /// Appends the data of the scan, without a marker. `points` gets one per row of MCUs, and the end.
  void write(std::uint32_t mcu_rows, std::vector<std::byte>& out, std::vector<SeekPoint>& points);
  /// The same for symbols that may have restarts, without points. `zeros`: bytes are filled with zeros, as some cameras
  /// do.
  void write(std::vector<std::byte>& out, bool zeros);

 private:
  struct Variants;

  template <bool k_bmi2>
  [[gnu::always_inline]] void put(std::span<const ScanSymbol> symbols, BitWriter& to) const;
  bool set_words(std::size_t table, const SymbolCounts& counts);
  std::size_t raw_size() const { return (num_bits_ + 7) / 8; }
  void put_symbols(std::span<const ScanSymbol> symbols, BitWriter& to) const;
  void write_raw(std::uint32_t mcu_rows);

  const ScanSymbols* symbols_ = nullptr;
  std::array<OptimalCodes, k_scan_tables> codes_;
  /// By table and symbol: the code, moved up by the number of bits after it; and in the lowest five bits, how many all
  /// of these are.
  std::array<std::uint32_t, k_scan_tables * k_symbols> words_{};
  std::uint64_t num_bits_ = 0;
  AlignedMemory memory_;
  std::uint8_t* raw_ = nullptr;            // the scan without byte stuffing
  std::vector<std::uint64_t> row_starts_;  // in bits
  bool has_bmi2_ = false;
};

/// The segments of a baseline JPEG before its scan, as libjpeg writes them.
/// The number of the Huffman tables of a component.
inline std::size_t codes_of_component(std::size_t component) { return component == 0 ? 0 : 1; }

/// Appends the start of an image, the kept markers of `info`, its quantization tables, a frame header, the Huffman
/// tables of `encoder` and the header of a scan of all components. The header of `info` must have been read, and its
/// image must be gray or have three components.
void append_segments(const jpeg_decompress_struct& info, const BaselineEncoder& encoder, std::vector<std::byte>& out);

}  // namespace bale::image_detail
