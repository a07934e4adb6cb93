// SeekPointFile: the seek points of one shard's images, in `X.bseek` next to shard X. Here they are opaque records, one
// per sample. Format of the file: formats/shard/index/INDEX.md. Format of a record: formats/image/jpeg/SEEK_POINTS.md.
//
// The file is optional: a shard is complete without it. A record is used only after it has been checked against the
// image's own bytes.
//
// The table is in memory, and a record is read when it is asked for: the file may be removed or truncated in the
// meantime.
//
// Threads: immutable; any number of threads may read it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/shard_index.hpp"

namespace bale {

class SeekPointFile {
 public:
  /// Opens a `.bseek` file and asks the kernel to read it. The records are not checked: each has its own checksum.
  /// Throws `damaged` if the header or table contradicts its checksum or size, `unsupported` for another version, and
  /// what File::open_read() throws.
  static SeekPointFile load(const std::string& path);
  /// The same from memory. `path` is used in messages only.
  static SeekPointFile from_bytes(std::vector<std::byte> bytes, const std::string& path);

  /// Number of samples of the shard that it was made for.
  std::uint64_t size() const { return num_samples_; }
  /// Size in bytes of the shard file that it was made for.
  std::uint64_t shard_bytes() const { return shard_bytes_; }
  /// Whether the shard with this index has the same number of samples and the same size.
  bool fits(const ShardIndex& index) const { return size() == index.size() && shard_bytes() == index.shard_bytes(); }
  /// The record of sample `i`, empty if it has none, or if the file does not have it any more. Precondition: i <
  /// size().
  std::vector<std::byte> record(std::uint64_t i) const;
  /// Whether all records match the file's checksum. Reads all of them.
  bool records_are_whole() const;

 private:
  SeekPointFile() = default;
  using Read = std::function<void(std::uint64_t offset, MutableBytes out)>;
  static SeekPointFile parse(Read read, std::uint64_t file_bytes, const std::string& path);

  Read read_;
  std::uint64_t num_samples_ = 0;
  std::uint64_t shard_bytes_ = 0;
  std::uint64_t record_bytes_ = 0;
  std::uint32_t records_crc32c_ = 0;
  std::vector<std::uint64_t> ends_;
};

/// Collects the records of one shard, in the order of its samples. Used by one thread.
class SeekPointFileBuilder {
 public:
  /// Adds a copy of the next sample's record; empty if it has none.
  void add(Bytes record);
  /// The content of the file. `shard_bytes` is the size of the finished shard file.
  std::vector<std::byte> build(std::uint64_t shard_bytes) const;

 private:
  std::vector<std::uint64_t> ends_;
  std::vector<std::byte> records_;
};

/// Path of the seek points of a shard file: "X.bseek" for shard "X".
std::string seek_point_path(const std::string& shard_path);
/// The path that bale 0.1.0 gave them: "X.bentry". The content is the same, and is read.
std::string old_seek_point_path(const std::string& shard_path);
/// The one of the two paths at which there is a file, seek_point_path() first; seek_point_path() if there is none.
std::string find_seek_points(const std::string& shard_path);

}  // namespace bale
