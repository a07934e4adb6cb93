// Reads rows of MCUs from JPEG planes (PLANES.md); internal.
#pragma once

#include <array>
#include <cstdint>
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
  /// Where the next rows are stored: the MCUs of `stored`, in `order`.
  void store_in(const CoefficientRows& to, const McuRange& stored, BlockOrder order);

  /// Of a row.
  std::uint32_t num_blocks() const { return num_blocks_; }
  /// Decodes a row, whose blocks have these classes. `readable`: how many bytes after it can be read, k_plane_padding
  /// at least; it is slower near their end. Stores every coefficient of the blocks that are stored. False if these are
  /// not the bytes of such a row; what was stored has no meaning then.
  bool decode_row(Bytes row, std::size_t readable, Bytes classes);

 private:
  bool read_dc(Bytes widths, Bytes bits, const std::array<std::int16_t, 3>& firsts);
  bool list_kinds(Bytes classes);

  struct Component {
    std::uint32_t mcu_across = 1;  // blocks of an MCU
    std::uint32_t mcu_down = 1;
    std::uint32_t across = 0;  // blocks of a row of blocks
    std::uint32_t num_blocks() const { return across * mcu_down; }
  };
  std::uint32_t num_components_ = 0;
  std::array<Component, 3> components_{};
  std::uint32_t num_blocks_ = 0;
  BlockOrder order_ = BlockOrder::pairs;
  std::vector<PlaneBlock> blocks_;
  std::vector<std::int16_t> dc_;
  std::array<std::uint16_t, k_num_kinds> first_{};  // block of each kind, or k_no_block
};

}  // namespace bale::image_detail
