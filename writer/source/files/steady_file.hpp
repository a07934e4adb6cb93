// Reads a whole file and detects whether it changes in the meantime.
//
// For one thread at a time. System calls of a file at rest: open, fstat, read, fstat, close. Nothing is allocated.
#pragma once

#include <string>

#include "bale/formats/base/bytes.hpp"
#include "bale/writer/source/files/long_path.hpp"

namespace bale {

class SteadyFile {
 public:
  /// Largest file that fits into a field, whose length has 32 bits.
  static constexpr std::uint64_t k_max_bytes = 0xFFFFFFFFU;

  /// Throws `not_found`, `io` or `unsupported` (not a regular file, too large).
  explicit SteadyFile(const std::string& path);

  /// Size when opened.
  std::size_t size() const { return static_cast<std::size_t>(info_.st_size); }
  /// Time of its last change when opened, in nanoseconds.
  std::int64_t changed_ns() const { return mtime_ns(info_); }

  /// Reads the file into `out`, which is one byte longer than size() to detect growth. Returns false if the file
  /// changed since it was opened. `is_being_written`: something may be writing to it, so its content is compared
  /// with a second reading. Throws `io`, naming `path`.
  bool read(MutableBytes out, const std::string& path, bool is_being_written = false) const;

 private:
  bool still_holds(Bytes bytes, const struct stat& info, const std::string& path) const;

  Descriptor file_;
  struct stat info_ {};
};

/// A text that changes when the file's content changes. Every write sets the times; the status change time changes even
/// if the modification time is set back. The ends are compared for file systems with coarse times. Of a file that
/// cannot be read it says so: reading the content reports why.
std::string identity_of_file(const std::string& path);

/// Asks the kernel to read the whole file ahead; never fails.
void read_file_ahead(const std::string& path);

}  // namespace bale
