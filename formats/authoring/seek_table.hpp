// The seek table of a seekable zstd file: which frame holds which part of the stream.
//
// Format: zstd contrib/seekable_format/zstd_seekable_compression_format.md; formats/tar/FORMAT.md, section 5.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/file.hpp"

namespace bale {

/// Sizes of one frame in bytes.
struct FrameSizes {
  std::uint32_t compressed = 0;
  std::uint32_t content = 0;
};

/// Where each frame starts in the file and in the stream. The last entry is the end of both.
struct SeekTable {
  struct Start {
    std::uint64_t file_offset = 0;
    std::uint64_t stream_offset = 0;
  };
  std::vector<Start> starts;

  std::size_t num_frames() const { return starts.size() - 1; }
  std::uint64_t stream_bytes() const { return starts.back().stream_offset; }
  /// Frame that holds the byte at `offset`. Precondition: offset < stream_bytes().
  std::size_t frame_at(std::uint64_t offset) const;
};

/// Reads the table at the end of the file; nullopt if there is none. Throws `damaged` if it contradicts the file.
std::optional<SeekTable> read_seek_table(const File& file);

/// The skippable frame that holds the table.
std::vector<std::byte> make_seek_table(const std::vector<FrameSizes>& frames);

}  // namespace bale
