// Rows of a dataset (elements of its first dimension) as raw bytes, for every kind of storage.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/hdf5/file/chunks.hpp"
#include "bale/formats/hdf5/file/input.hpp"

namespace bale::h5 {

/// Thread-safe. Rows that were never written have the dataset's fill value.
class RowReader {
 public:
  /// Needs an H5Lock, as does the destructor. `file` must outlive the reader.
  RowReader(const InputFile& file, InputDataset dataset);

  std::uint64_t num_rows() const { return num_rows_; }
  std::uint64_t row_bytes() const { return row_bytes_; }
  const InputDataset& dataset() const { return dataset_; }
  /// Whether read() calls the library. It then needs an H5Lock.
  bool needs_library() const { return !contiguous_ && !chunks_; }

  /// Fills `out` with `count` rows. Preconditions: the rows exist, and `out` has their size.
  void read(std::uint64_t first, std::uint64_t count, MutableBytes out) const;

 private:
  struct PlainChunk {
    std::uint64_t number;
    std::vector<std::byte> bytes;
  };
  std::shared_ptr<const PlainChunk> plain_chunk(std::uint64_t number) const;
  void read_through_library(std::uint64_t first, std::uint64_t count, MutableBytes out) const;

  const InputFile& file_;
  InputDataset dataset_;
  std::uint64_t num_rows_ = 0;
  std::uint64_t row_bytes_ = 0;
  std::optional<std::uint64_t> contiguous_;  // offset of the first row
  std::optional<ChunkMap> chunks_;
  mutable std::mutex last_mutex_;
  mutable std::shared_ptr<const PlainChunk> last_;
};

}  // namespace bale::h5
