// SpillFile: collects decompressed bytes in an unnamed temporary file, which is then read by position.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/container/streams/stream.hpp"

namespace bale {

/// For one thread. The file is in $TMPDIR (else /tmp) and is deleted with the stream.
class SpillFile {
 public:
  /// `source_path` is the file that the bytes come from. Throws `io` with that path and the directory.
  explicit SpillFile(const std::string& source_path);

  std::uint64_t size() const { return size_; }
  /// Evicts kept spills if there is no room for this one. Throws `io` with the source and the directory, and `damaged`
  /// if the source expands beyond the limits in inflation.hpp.
  void append(Bytes bytes);
  /// Writes at a position. Gaps read as zeros and take no space.
  void put(std::uint64_t offset, Bytes bytes);
  /// Makes the stream at least this long.
  void extend(std::uint64_t size);

  /// Returns the stream of all collected bytes. Do not use the SpillFile afterwards.
  std::unique_ptr<Stream> finish() &&;

 private:
  File make_file() const;
  void write(std::uint64_t offset, Bytes bytes);
  void make_room();
  [[noreturn]] void fail(const Error& error) const;

  std::string source_path_;
  std::uint64_t source_bytes_;
  std::string directory_;
  File file_;
  std::uint64_t size_ = 0;
  std::uint64_t written_ = 0;          // without holes
  std::uint64_t next_room_check_ = 0;  // in terms of `written_`
};

}  // namespace bale
