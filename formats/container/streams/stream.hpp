// Stream: random access to the content of a shard file, which may be compressed as a whole.
//
// Const methods may be called by many threads at once. A stream that decompresses the whole file keeps the result in an
// unnamed temporary file ($TMPDIR, else /tmp), not in memory. Streams inherited over fork() can be read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/format.hpp"

namespace bale {

class Stream {
 public:
  virtual ~Stream() = default;

  virtual std::uint64_t size() const = 0;
  /// Fills `out` with the bytes at `offset`. Throws `damaged` if the stream ends before.
  virtual void read_exact(std::uint64_t offset, MutableBytes out) const = 0;
  /// The range of the shard file that holds this part of the stream; nullopt if that is not known.
  virtual std::optional<FileRange> locate(std::uint64_t offset, std::uint64_t length) const = 0;
  virtual void will_need(const FileRange& range) const = 0;
  /// Bytes that the stream takes in the temporary directory.
  virtual std::uint64_t spilled_bytes() const { return 0; }

  /// Fills the front of `out` with the bytes at `offset`, up to the end of the stream. Returns how many.
  std::size_t read_some(std::uint64_t offset, MutableBytes out) const {
    const auto length =
        static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size() - std::min(size(), offset)));
    if (length != 0) read_exact(offset, out.first(length));
    return length;
  }
};

/// The directory for temporary files: $TMPDIR, else /tmp.
std::string temporary_directory();

/// The content of a file that is not compressed: the file.
std::unique_ptr<Stream> open_plain_stream(const std::string& path);

/// Which frames of a seekable zstd file are compared with the checksums in them.
enum class FrameChecks {
  all,
  compressed,  // content that is stored unchanged is read from the file: the caller has checksums of its own
};

/// Opens a zstd file by its seek table if it has a usable one (formats/tar/FORMAT.md, section 5), else decompresses it
/// whole. Throws `damaged` if its compressed data is damaged.
std::unique_ptr<Stream> open_zstd_stream(const std::string& path, FrameChecks checks = FrameChecks::all);

/// The content of zstd frames that lie one after another in a file, the n-th from bounds[n] to bounds[n + 1], with
/// random access. `starts` becomes where each begins in the content, and the end. Throws `damaged` if they are not
/// frames, `unsupported` for one that does not state its size or has more than 64 MiB of content.
std::unique_ptr<Stream> open_zstd_frames(const std::string& path, const std::vector<std::uint64_t>& bounds,
                                         std::vector<std::uint64_t>& starts);

}  // namespace bale
