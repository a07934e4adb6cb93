// BatchTables: what goes to the device beside the pixels of a batch, in one block of the same layout on both sides.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bale::cuda_detail {

struct BatchTables {
  /// For `batch_size` rows; `mixes`: with partners' labels and shares.
  BatchTables(std::uint32_t batch_size, bool mixes);

  // Offsets in bytes.
  std::size_t labels = 0;          // int64
  std::size_t partner_labels = 0;  // int64
  std::size_t rows = 0;            // ConvertRow
  std::size_t shares = 0;          // float
  std::size_t mask = 0;            // uint8
  std::size_t size_bytes = 0;
  bool mixes = false;
};

}  // namespace bale::cuda_detail
