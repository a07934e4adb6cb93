// Sink: where a finished stretch of tar stream goes: to the file as it is, or compressed.
//
// For one thread. A sink is given whole samples, so that compressed frames can be cut between them.
#pragma once

#include <memory>
#include <span>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/file.hpp"

namespace bale::tar {

class Sink {
 public:
  virtual ~Sink() = default;
  /// Appends the parts one after another; they are not kept. Throws `io`.
  virtual void write(std::span<const Bytes> parts) = 0;
  /// Writes what is still held back. Nothing may be written after it.
  virtual void finish() = 0;
};

std::unique_ptr<Sink> make_plain_sink(const std::string& path);
/// Standard gzip, one member (FORMAT.md, section 6). Level 1..9.
std::unique_ptr<Sink> make_gzip_sink(File file, int level);
/// Seekable zstd frames (FORMAT.md, section 5). Level 1..19.
std::unique_ptr<Sink> make_zstd_sink(File file, int level);

}  // namespace bale::tar
