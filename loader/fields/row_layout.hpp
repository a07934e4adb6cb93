// RowLayout: how many bytes a batch and each of its images need. Immutable; safe in any thread.
#pragma once

#include <cstdint>
#include <string>

#include "bale/loader/loader_options.hpp"
#include "bale/loader/ring/field_places.hpp"
#include "bale/reader/dataset.hpp"

namespace bale::loader_detail {

class RowLayout {
 public:
  /// `dataset` must outlive the layout. For ragged and raw transforms, this reads the whole index to find the largest
  /// possible batch; one batch contains a sample at most `max_deliveries` times. An image of more than `max_pixels`
  /// pixels, or without a size, gets 0 bytes: it is a bad sample. Throws `unsupported` if a shard's index does not have
  /// the sizes that the transform needs.
  RowLayout(const Dataset& dataset, const LoaderOptions& options, std::uint64_t max_deliveries);

  /// Bytes for the pixels of any batch.
  std::uint64_t batch_bytes() const { return views_.total_bytes(); }
  /// Where the further views are.
  const ViewLayout& views() const { return views_; }
  /// Bytes for the pixels of this sample.
  std::uint64_t row_bytes(std::size_t shard, std::uint64_t sample_in_shard) const;

 private:
  std::uint64_t fixed_row_bytes() const;
  std::uint64_t bytes_of_first_view(const LoaderOptions& options, std::uint64_t max_deliveries) const;
  void require_sizes(std::size_t shard) const;
  std::uint64_t row_bytes(const ShardIndex& index, std::size_t shard, std::uint64_t sample) const;

  const Dataset& dataset_;
  Transform transform_;
  std::string field_;
  std::uint64_t max_pixels_;
  bool leaves_jpegs_;
  ViewLayout views_;
};

}  // namespace bale::loader_detail
