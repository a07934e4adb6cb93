// RowLayout: how much room each image needs in a batch, and where a sample's image is. Immutable; safe in any thread.
#pragma once

#include <cstdint>
#include <string>

#include "bale/loader/loader_options.hpp"
#include "bale/reader/dataset.hpp"

namespace bale::loader_detail {

class RowLayout {
 public:
  /// `dataset` outlives the layout. Ragged and raw transforms look at the whole index for the largest batch there can
  /// be, if a batch has one sample at most `max_deliveries` times. Images of more than `max_pixels` pixels get no room:
  /// they are bad samples. Throws `unsupported` if a shard's index has no sizes. A single image without a size gets no
  /// room, so it is a bad sample.
  RowLayout(const Dataset& dataset, const LoaderOptions& options, std::uint64_t max_deliveries);

  /// Room for the pixels of any batch.
  std::uint64_t batch_bytes() const { return batch_bytes_; }
  /// Room for this sample's.
  std::uint64_t row_bytes(std::size_t shard, std::uint64_t sample_in_shard) const;

 private:
  void require_sizes(std::size_t shard) const;

  const Dataset& dataset_;
  Transform transform_;
  std::string field_;
  std::uint64_t max_pixels_;
  std::uint64_t batch_bytes_ = 0;
};

}  // namespace bale::loader_detail
