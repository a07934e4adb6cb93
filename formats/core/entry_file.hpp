// EntryFile: the entry points of one shard's images, `X.bentry` beside shard X. To this room they are records of bytes,
// one a sample; what is in them is formats/image's (ENTRY_POINTS.md there). Bytes of the file: formats/core/INDEX.md.
//
// A shard is whole without it, and every reader that does not know it reads the shard as before. Nothing in it is
// believed until it has been compared with the image's own bytes.
//
// Threads: immutable once made; safe to read from any number of threads. Processes: the mapping is shared between
// processes through the page cache.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/formats/core/bytes.hpp"
#include "bale/formats/core/file.hpp"
#include "bale/formats/core/shard_index.hpp"

namespace bale {

class EntryFile {
 public:
  /// Maps a `.bentry` file and asks the kernel to read it; throws `damaged` where header or table contradict their
  /// checksums or sizes, `unsupported` for a newer version. The records are not read: each has a checksum of its own.
  static EntryFile load(const std::string& path);
  /// The same from memory; `path` is for messages only.
  static EntryFile from_bytes(std::vector<std::byte> bytes, const std::string& path);

  /// Samples of the shard, and the size in bytes of the shard file, that it was made for.
  std::uint64_t size() const { return num_samples_; }
  std::uint64_t shard_bytes() const { return shard_bytes_; }
  /// Whether that is so of the shard with this index.
  bool fits(const ShardIndex& index) const { return size() == index.size() && shard_bytes() == index.shard_bytes(); }
  /// The record of sample i < size(); empty where it has none. Borrows.
  Bytes record(std::uint64_t i) const;
  /// Reads all records: whether they are the bytes that were written.
  bool records_are_whole() const;

 private:
  EntryFile() = default;
  void parse(const std::string& path);

  FileMapping mapping_;
  std::vector<std::byte> owned_;
  Bytes bytes_{};
  std::uint64_t num_samples_ = 0;
  std::uint64_t shard_bytes_ = 0;
  const std::byte* ends_ = nullptr;
  Bytes records_{};
};

/// Collects the records of one shard, sample by sample. For one thread.
class EntryFileBuilder {
 public:
  /// The next sample's; empty where it has none.
  void add(Bytes record);
  std::vector<std::byte> build(std::uint64_t shard_bytes) const;

 private:
  std::vector<std::uint64_t> ends_;
  std::vector<std::byte> records_;
};

/// Path of the entry points that belong to a shard file.
std::string entry_path(const std::string& shard_path);

}  // namespace bale
