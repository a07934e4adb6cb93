// What our own decoders need to know about a JPEG, from the headers that libjpeg has read; internal.
//
// libjpeg parses the markers in any case, so both decoders agree on every fact, and what libjpeg refuses is refused.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/image/jpeg/library/jpeg_guard.hpp"

namespace bale::image_detail {

struct BaselineComponent {
  std::uint32_t blocks_across = 1;  // of an MCU
  std::uint32_t blocks_down = 1;
  std::uint32_t width = 0;  // of its samples, without padding
  std::uint32_t height = 0;
  const JQUANT_TBL* quantizers = nullptr;
  // Of a baseline JPEG only.
  const JHUFF_TBL* dc_codes = nullptr;
  const JHUFF_TBL* ac_codes = nullptr;
};

struct BaselineFrame {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t num_components = 0;             // 1: gray; 3: Y, Cb, Cr, chroma never finer than luma
  std::array<BaselineComponent, 3> components;  // luma first
  std::uint32_t restart_interval = 0;           // in MCUs; 0 if there are no restarts
  std::uint32_t mcus_across = 0;
  std::uint32_t mcus_down = 0;
  std::uint32_t rows_read_together = 1;  // rows of MCUs that libjpeg decodes together
  Bytes scan{};                          // the bytes after the scan's header

  std::uint32_t mcu_width() const { return components[0].blocks_across * 8; }
  std::uint32_t mcu_height() const { return components[0].blocks_down * 8; }
  /// With those that only fill MCUs.
  std::uint64_t num_blocks() const {
    return std::uint64_t{mcus_across} * mcus_down *
           (components[0].blocks_across * components[0].blocks_down + num_components - 1);
  }
};

/// nullopt if the baseline decoder cannot read the file. To be called after jpeg_read_header(). Borrows from `info`.
std::optional<BaselineFrame> baseline_frame(const jpeg_decompress_struct& info);

/// The same for a progressive JPEG. Each scan of it has Huffman tables of its own.
std::optional<BaselineFrame> progressive_frame(const jpeg_decompress_struct& info);

}  // namespace bale::image_detail
