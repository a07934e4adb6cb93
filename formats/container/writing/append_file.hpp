// AppendFile: a new file written from front to back. For one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/container/writing/gathered_writes.hpp"

namespace bale {

class AppendFile {
 public:
  /// Creates the file, and replaces an existing one.
  explicit AppendFile(const std::string& path) : file_(File::create(path)) {}

  /// Offset of the next part.
  std::uint64_t size() const { return writes_.end(); }

  /// Appends the parts in order, and does not keep them. Few bytes wait in memory for those that follow. Throws `io`,
  /// also for bytes that waited.
  void append(std::span<const Bytes> parts) { writes_.append(file_, parts); }

  /// Writes what waits, and closes the file. Throws `io`.
  void close() {
    writes_.flush(file_);
    file_.close();
  }

 private:
  File file_;
  GatheredWrites writes_;
};

}  // namespace bale
