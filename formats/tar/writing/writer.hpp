// Writing tar shards: create() of the format.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/container/writing/gather.hpp"
#include "bale/formats/shard/format.hpp"

namespace bale::tar {

inline constexpr std::string_view k_plain_layout = "plain";
inline constexpr std::string_view k_gzip_layout = "gz";
inline constexpr std::string_view k_zstd_layout = "zst";

/// Stored names are extensions of file names. Without an index, a compressed field is the field "X.zst"; JPEGs as
/// planes are what they are.
inline constexpr FieldRule k_field_rule{
    .forbidden = std::string_view("/\0", 2), .is_lower_case = true, .marks_compressed = false};

std::unique_ptr<ShardWriter> create(const WriterOptions& options);

// Sink: writes finished parts of a tar stream to the file, plain or compressed.
//
// For one thread. Each write() gets whole samples, so that compressed frames can end between samples.

class Sink {
 public:
  virtual ~Sink() = default;
  /// A payload of more bytes is to be a part of its own, so that a sink can see it.
  virtual std::size_t joined_bytes() const { return Gather::k_copied_bytes; }
  /// Appends the parts in order. Keeps no reference to them. Throws `io`.
  virtual void write(std::span<const Bytes> parts) = 0;
  /// Writes what is still buffered. Do not call write() afterwards.
  virtual void finish() = 0;
};

std::unique_ptr<Sink> make_plain_sink(const std::string& path);
/// Standard gzip, one member (FORMAT.md, section 6). Level 1..9.
std::unique_ptr<Sink> make_gzip_sink(File file, int level);
/// Seekable zstd frames (FORMAT.md, section 5). Level 1..19.
std::unique_ptr<Sink> make_zstd_sink(File file, int level);

}  // namespace bale::tar
