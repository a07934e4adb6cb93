// The writers of the three layouts and what they share. Layouts: FORMAT.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/file.hpp"
#include "bale/formats/hdf5/library/h5.hpp"
#include "bale/formats/shard/format.hpp"

namespace bale::h5 {

std::unique_ptr<ShardWriter> make_blob_writer(const WriterOptions& options);
/// "array" without compression.
std::unique_ptr<ShardWriter> make_array_writer(const WriterOptions& options);
/// "vlen", and "array" with compression.
std::unique_ptr<ShardWriter> make_table_writer(const WriterOptions& options);

/// Stored names are names of datasets or groups.
inline constexpr std::string_view k_reserved_names[] = {"."};
inline constexpr FieldRule k_field_rule{
    .forbidden = std::string_view("/\0", 2), .reserved = k_reserved_names, .may_be_empty = false};

inline constexpr hsize_t k_rows_per_chunk = 1024;  // of vlen references, 16 bytes each

/// Writes `keys`, which lie end to end in `text`.
void write_keys(OutputFile& file, std::string_view text, const std::vector<std::size_t>& ends);

/// Writes `labels`, `class_names` and the root's attributes.
void write_common(OutputFile& file, const WriterOptions& options, const std::vector<std::int64_t>& labels);

// Spool: collects bytes whose offset is known only at the end, in memory up to a limit, then in an unnamed file.

class Spool {
 public:
  /// `path`: name of the file if one is needed. It is unlinked at once, so that a crash does not leave it behind.
  explicit Spool(std::string path) : path_(std::move(path)) {}

  void append(Bytes bytes);
  std::uint64_t size() const { return file_bytes_ + memory_.size(); }
  /// Fills `out` from `offset`. Precondition: there are that many bytes.
  void read(std::uint64_t offset, MutableBytes out) const;
  /// Writes all bytes to `out` at `offset`.
  void copy_to(File& out, std::uint64_t offset) const;

 private:
  void spill();
  std::string path_;
  std::vector<std::byte> memory_;
  File file_;
  std::uint64_t file_bytes_ = 0;
};

/// Copies a range from one file to another, inside the kernel if possible.
void copy_range(const File& in, std::uint64_t from, File& out, std::uint64_t to, std::uint64_t bytes);

/// Writes the file of a writer again, by `make`, under another name, which it then loses. Returns what `make` returns.
/// Throws what `make` throws, and `io`; the file is then the first one.
File write_again(const std::string& path, const std::function<File(const std::string& again)>& make);

/// Allocates the disk space of a file now, so that a full disk is reported before the work, not after it. Does nothing
/// if the file system cannot.
void reserve_space(const File& file);

}  // namespace bale::h5
