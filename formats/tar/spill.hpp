// Spill: what is inflated once, kept in a temporary file without a name, and then read by position.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/tar/stream.hpp"

namespace bale::tar {

/// Collects the bytes; for one thread. The file lies in $TMPDIR (else /tmp) and goes away with the stream.
class Spill {
 public:
  /// `source_path` is what the bytes come from. Throws `io`, naming it and the directory.
  explicit Spill(const std::string& source_path);

  std::uint64_t size() const { return size_; }
  /// Throws `io`, naming the source and the directory to make room in; `damaged` if the source becomes more than so few
  /// bytes may become (inflation.hpp). Gives up spills that are kept if there is no room for this one.
  void append(Bytes bytes);
  /// Writes at a position; what is left out between reads as zeros and takes no room.
  void put(std::uint64_t offset, Bytes bytes);
  /// Makes the stream at least this long.
  void extend(std::uint64_t size);

  /// The stream of everything collected; the Spill is done with.
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
  std::uint64_t written_ = 0;          // holes left out
  std::uint64_t next_room_check_ = 0;  // of `written_`
};

}  // namespace bale::tar
