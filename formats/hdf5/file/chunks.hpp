// Reads chunked datasets outside the library: gets the chunk addresses once, then uses pread and our own filters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bale/formats/hdf5/file/input.hpp"

namespace bale::h5 {

/// One step of a chunk's filter pipeline, in the order of writing.
struct ChunkFilter {
  enum class Kind { deflate, shuffle, fletcher32, lzf } kind;
  std::uint32_t element_bytes = 1;  // shuffle
};

/// Undoes a pipeline. Bit i of `skipped` is set if filter i was not applied. The result has exactly `plain_bytes`
/// bytes. Throws `damaged`.
std::vector<std::byte> undo_filters(const std::vector<ChunkFilter>& filters, std::uint32_t skipped,
                                    std::vector<std::byte> stored, std::uint64_t plain_bytes, const std::string& path);

/// The fill value: one element as it would be in the file. Zeros if the dataset has no fill value.
std::vector<std::byte> fill_element(const InputFile& file, const InputDataset& dataset);

/// The positions of a dataset's chunks in the file. Chunks hold whole rows (elements of the first dimension).
class ChunkMap {
 public:
  /// Needs an H5Lock. nullopt if chunks split rows, if a filter is not supported, or if there are more chunks than this
  /// library version can look up in reasonable time.
  static std::optional<ChunkMap> make(const InputFile& file, const InputDataset& dataset);

  std::uint64_t rows_per_chunk() const { return rows_per_chunk_; }
  std::uint64_t num_chunks() const { return chunks_.size(); }
  /// The decoded bytes of a chunk, including rows after the end of the dataset. Any thread; no lock.
  std::vector<std::byte> read(const File& file, std::uint64_t chunk) const;

 private:
  struct Place {
    std::uint64_t address = 0;  // 0: never written, reads as the fill value
    std::uint64_t bytes = 0;
    std::uint32_t skipped = 0;
  };
  std::uint64_t rows_per_chunk_ = 0;
  std::uint64_t chunk_bytes_ = 0;
  std::vector<std::byte> fill_;  // one element
  std::vector<ChunkFilter> filters_;
  std::vector<Place> chunks_;
};

/// The bytes of every element as they are in the file, for one-dimensional datasets (or n x 1). Needs an H5Lock.
std::vector<std::byte> read_raw_rows(const InputFile& file, const InputDataset& dataset);

}  // namespace bale::h5
