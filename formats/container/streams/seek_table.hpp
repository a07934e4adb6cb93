// The seek table of a seekable zstd file: which frame holds which part of the stream.
//
// Format: zstd contrib/seekable_format/zstd_seekable_compression_format.md; formats/tar/FORMAT.md, section 5.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bale/formats/base/file.hpp"

namespace bale {

/// Sizes of one frame in bytes.
struct FrameSizes {
  std::uint32_t compressed = 0;
  std::uint32_t content = 0;
};

/// Where each frame lies in the file and in the stream. A file may have two frames per sample, so a frame takes little
/// more than its sizes.
class SeekTable {
 public:
  struct Place {
    std::size_t frame = 0;
    std::uint64_t file_offset = 0;
    std::uint64_t stream_offset = 0;
    std::uint32_t file_bytes = 0;
    std::uint32_t content_bytes = 0;
  };

  /// The first frame starts at `file_offset` in the file.
  explicit SeekTable(std::uint64_t file_offset = 0) : end_{.file_offset = file_offset} {}

  /// Allocates memory for this many frames.
  void reserve(std::size_t num_frames) { frames_.reserve(num_frames); }
  /// Adds the frame after the last one.
  void add(const FrameSizes& sizes);

  std::size_t num_frames() const { return frames_.size(); }
  std::uint64_t file_end() const { return end_.file_offset; }
  std::uint64_t stream_bytes() const { return end_.stream_offset; }
  const std::vector<FrameSizes>& frames() const { return frames_; }
  /// The frame that holds the byte at `offset` of the stream. Precondition: offset < stream_bytes().
  Place place_of(std::uint64_t offset) const;

 private:
  static constexpr std::size_t k_step = 32;

  struct Start {
    std::uint64_t file_offset = 0;
    std::uint64_t stream_offset = 0;
  };
  std::vector<FrameSizes> frames_;
  std::vector<Start> starts_;  // of every k_step-th frame
  Start end_;
};

/// Reads the table at the end of the file; nullopt if there is none. Throws `damaged` if it contradicts the file.
std::optional<SeekTable> read_seek_table(const File& file);

/// The skippable frame that holds the table.
std::vector<std::byte> make_seek_table(const std::vector<FrameSizes>& frames);

}  // namespace bale
