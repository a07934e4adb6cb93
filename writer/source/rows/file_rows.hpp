// The files of a source, stored compactly: 40 bytes and the name per file, each directory once.
//
// Ownership: returned names borrow from the FileRows. Threads: const methods may be called by many threads at once;
// adding is for one thread. Memory grows in blocks, so that there is never a second copy of everything.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/shard/sample.hpp"

namespace bale {

/// Append-only storage for text. Positions are stable.
class TextArena {
 public:
  static constexpr std::size_t k_block_bytes = std::size_t{1} << 20;

  /// Precondition: text.size() <= k_block_bytes.
  std::uint64_t add(std::string_view text);
  std::string_view get(std::uint64_t position, std::size_t length) const {
    if (length == 0) return {};
    return {blocks_[position / k_block_bytes].get() + position % k_block_bytes, length};
  }

 private:
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t used_ = k_block_bytes;
};

struct FileRow {
  std::uint64_t name = 0;     // position in the arena
  std::uint64_t bytes = 0;    // when listed; 0 if it could not be examined
  std::int64_t mtime_ns = 0;  // when listed
  std::int64_t label = k_no_label;
  std::uint32_t directory = 0;
  std::uint16_t name_bytes = 0;
  std::uint16_t field = 0;  // index of the source's image field; unused for companions
};

class FileRows {
 public:
  static constexpr std::size_t k_max_path_bytes = std::size_t{1} << 16;
  static constexpr std::uint32_t k_no_companion = ~std::uint32_t{0};

  /// `path` is the path to open ("" for the current directory). Its part from `key_start` on goes into the keys.
  /// Throws `unsupported` for a path longer than k_max_path_bytes.
  std::uint32_t add_directory(std::string_view path, std::size_t key_start);
  std::string_view directory(std::uint32_t id) const;
  /// The part of the directory's path that goes into the keys.
  std::string_view key_directory(std::uint32_t id) const;
  std::uint32_t num_directories() const { return static_cast<std::uint32_t>(directories_.size()); }

  /// Keys keep the extensions of their files (SourceOptions::keep_extensions).
  void keep_extensions(bool keep) { keeps_extensions_ = keep; }
  bool keeps_extensions() const { return keeps_extensions_; }

  /// Throws `unsupported` for a name longer than 65,535 bytes.
  FileRow& add_sample(std::uint32_t directory, std::string_view name);
  /// Adds a companion file of the sample added last. Call it once per companion field, in order.
  void add_companion(std::uint32_t directory, std::string_view name);
  void add_missing_companion() { companion_of_.push_back(k_no_companion); }

  std::deque<FileRow>& samples() { return samples_; }
  const std::deque<FileRow>& samples() const { return samples_; }
  std::deque<FileRow>& companions() { return companions_; }
  /// Companion `which` of sample `i`, with `count` companions per sample; null if it is missing.
  const FileRow* companion(std::uint64_t i, std::size_t which, std::size_t count) const;

  std::string_view name(const FileRow& row) const { return arena_.get(row.name, row.name_bytes); }
  /// Overwrites `out`.
  void path(const FileRow& row, std::string& out) const;
  std::string path(const FileRow& row) const;
  /// Path below the source's root, which filters and keys use.
  std::string path_below_root(const FileRow& row) const;
  /// Appends the sample's key to `out`: encode_key() of the path below the root, without its extension unless keys keep
  /// it.
  void append_key(const FileRow& row, std::string& out) const;

 private:
  struct Directory {
    std::uint64_t text;
    std::uint32_t bytes;
    std::uint32_t key_start;
  };
  FileRow make_row(std::uint32_t directory, std::string_view name);

  TextArena arena_;
  std::vector<Directory> directories_;
  std::deque<FileRow> samples_;
  std::deque<FileRow> companions_;
  std::vector<std::uint32_t> companion_of_;
  bool keeps_extensions_ = false;
};

/// A file name split at its last dot. ".jpg" has the stem ".jpg" and the extension "jpg".
struct StemAndExtension {
  std::string_view stem;
  std::string_view extension;
};
StemAndExtension split_file_name(std::string_view name);

/// Like join_path(), but "" is the current directory.
std::string below(std::string_view directory, std::string_view name);

}  // namespace bale
