// BatchTables: the layout, on host and device, of the block that is copied along with the pixels of a batch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bale/formats/base/math/rounding.hpp"
#include "bale/loader/cuda/kernels/convert_args.hpp"
#include "bale/loader/cuda/kernels/resize_args.hpp"

namespace bale::cuda_detail {

struct BatchTables {
  /// For `batch_size` rows, with the partners' labels and shares if `mixes_labels`, and what the device resizes if it
  /// `decodes`.
  BatchTables(std::uint32_t batch_size, bool mixes_labels, bool decodes) : mixes(mixes_labels) {
    // From the widest type to the narrowest, so that every table is aligned.
    const auto place = [&](std::size_t bytes_a_row) {
      const std::size_t at = size_bytes;
      size_bytes += bytes_a_row * batch_size;
      return at;
    };
    labels = place(sizeof(std::int64_t));
    if (mixes) partner_labels = place(sizeof(std::int64_t));
    if (decodes) resize = place(sizeof(ResizeRow));
    rows = place(sizeof(ConvertRow));
    if (mixes) shares = place(sizeof(float));
    mask = place(sizeof(std::uint8_t));
    size_bytes = round_up(size_bytes, sizeof(std::int64_t));  // the tables of the next batch follow
  }

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
