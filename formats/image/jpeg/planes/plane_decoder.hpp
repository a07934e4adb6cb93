// Reads rows of MCUs from JPEG planes (PLANES.md); internal.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/image/codec/reused_memory.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_frame.hpp"
#include "bale/formats/image/jpeg/entropy/coefficient_rows.hpp"
#include "bale/formats/image/jpeg/planes/kernels/plane_kernels.hpp"

namespace bale::image_detail {

/// For one thread at a time.
class PlaneDecoder {
 public:
  void open(const BaselineFrame& frame);
  /// Where the next rows are stored: the MCUs of `stored`, as `layout` says.
  void store_in(const CoefficientRows& to, const McuRange& stored, const BlockLayout& layout);

  /// Of a row.
  std::uint32_t num_blocks() const { return num_blocks_; }
  /// Decodes a row, whose blocks have these classes. k_plane_padding bytes after it must be readable. Stores every
  /// coefficient of the blocks that are stored. False if these are not the bytes of such a row; what was stored has no
  /// meaning then.
  bool decode_row(Bytes row, Bytes classes);

 private:
  bool read_dc(Bytes widths, Bytes bits, const std::array<std::int16_t, 3>& firsts);
  bool sort_blocks(Bytes classes);

  struct Component {
    std::uint32_t mcu_across = 1;  // blocks of an MCU
    std::uint32_t mcu_down = 1;
    std::uint32_t across = 0;  // blocks of a row of blocks
    std::uint32_t num_blocks() const { return across * mcu_down; }
  };
  std::uint32_t num_components_ = 0;
  std::array<Component, 3> components_{};
  std::uint32_t num_blocks_ = 0;
  BlockLayout layout_{};
  std::vector<PlaneBlock> blocks_;
  std::vector<std::int16_t> dc_;
  std::vector<std::uint16_t> sorted_;  // room for all blocks of a row, for each kind
  std::array<std::span<const std::uint16_t>, k_num_kinds> by_kind_;
};

}  // namespace bale::image_detail
