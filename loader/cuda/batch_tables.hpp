// BatchTables: the layout, on host and device, of the block that is copied along with the pixels of a batch.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bale::cuda_detail {

struct BatchTables {
  /// For `batch_size` rows, with the partners' labels and shares if `mixes`, and what the device resizes if it
  /// `decodes`.
  BatchTables(std::uint32_t batch_size, bool mixes, bool decodes);

  // Offsets in bytes.
  std::size_t labels = 0;          // int64
  std::size_t partner_labels = 0;  // int64
  std::size_t resize = 0;          // ResizeRow
  std::size_t rows = 0;            // ConvertRow
  std::size_t shares = 0;          // float
  std::size_t mask = 0;            // uint8
  std::size_t size_bytes = 0;
  bool mixes = false;
};

}  // namespace bale::cuda_detail
