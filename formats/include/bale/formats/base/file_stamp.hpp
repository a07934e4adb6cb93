// FileStamp: which file a path names, and the state in which it is, as far as the file system tells without reading it.
#pragma once

#include <cstdint>
#include <string>

#include "bale/formats/base/cxx20.hpp"

namespace bale {

/// Equal stamps: the same file, not written since.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t seconds = 0;  // of the last change
  std::int64_t nanoseconds = 0;

  /// Of the file at `path`. Zeros if there is none, and for the name of a remote file, whose storage knows its
  /// versions.
  static FileStamp of(const std::string& path);

  bool is_known() const { return inode != 0; }
  auto operator<=>(const FileStamp&) const = default;
};

/// Where an index lies in an IndexMemory. `bytes` is 0 if it lies in none.
struct IndexPlace {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// What a user of a shard holds of it: any other file or index under the same name is `changed`. Plain data, so that a
/// process can hand it to another.
struct ShardIdentity {
  std::uint64_t index = 0;  // ShardIndex::identity()
  FileStamp file{};         // of the shard
  IndexPlace place{};       // of the index
};

}  // namespace bale
