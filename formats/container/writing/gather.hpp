// Gather: a part of a file that is being built. Small pieces are copied together, large ones are borrowed.
//
// For one thread. Meant to be reused: it keeps its memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/files/writeback.hpp"

namespace bale {

class Gather {
 public:
  static constexpr std::size_t k_copied_bytes = 4096;

  /// Payloads of up to `copied_bytes` bytes are copied; larger ones are borrowed and become parts of their own.
  explicit Gather(std::size_t copied_bytes = k_copied_bytes) : copied_bytes_(copied_bytes) {}

  void clear();
  /// Adds bytes, which must outlive the use of parts().
  void add(Bytes bytes);
  /// Adds bytes with a function that appends them to the vector it is given.
  template <typename Append>
  void add_by(Append append) {
    const std::size_t before = copied_.size();
    append(copied_);
    size_ += copied_.size() - before;
  }
  void add_zeros(std::size_t count);

  std::uint64_t size() const { return size_; }
  /// All bytes added, in order; valid until the next change.
  std::span<const Bytes> parts();

 private:
  /// Either borrowed bytes or a range of copied_.
  struct Part {
    Bytes borrowed;
    std::size_t begin;
    std::size_t end;
  };
  void close_copied();

  std::size_t copied_bytes_;
  std::uint64_t size_ = 0;
  std::vector<std::byte> copied_;
  std::size_t closed_ = 0;  // parts_ cover copied_ up to here
  std::vector<Part> parts_;
  std::vector<Bytes> spans_;
};

// GatheredWrites: writes bytes one after another into a part of a file, in pieces that end at multiples of 256 KiB. For
// one thread.
//
// The kernel keeps a written file in blocks of memory that are as large as the writes and their offsets allow (Linux,
// mm/filemap.c, __filemap_get_folio). Reading 110 KB at random from blocks of 4 KiB takes up to half again as long as
// from those that such pieces make.

class GatheredWrites {
 public:
  /// For the part of a file that begins at `begin`.
  explicit GatheredWrites(std::uint64_t begin = 0) : written_(begin), writeback_(begin) {}

  /// Offset of the next part.
  std::uint64_t end() const { return written_ + waiting_.size(); }

  /// Appends the parts in order, and does not keep them. Up to a piece waits in memory for what follows. Throws `io`,
  /// also for bytes that waited.
  void append(File& file, std::span<const Bytes> parts) {
    for (Bytes part : parts) {
      while (part.size() >= room_in_piece()) {
        const Bytes head = part.first(room_in_piece());
        if (waiting_.empty()) {
          write(file, head);
        } else {
          waiting_.insert(waiting_.end(), head.begin(), head.end());
          flush(file);
        }
        part = part.subspan(head.size());
      }
      waiting_.insert(waiting_.end(), part.begin(), part.end());
    }
  }

  /// Writes the bytes that wait. Throws `io`.
  void flush(File& file) {
    if (!waiting_.empty()) write(file, waiting_);
    waiting_.clear();
  }

 private:
  static constexpr std::size_t k_piece_bytes = std::size_t{256} << 10;

  /// Up to the next multiple of a piece's size.
  std::size_t room_in_piece() const { return k_piece_bytes - end() % k_piece_bytes; }

  void write(File& file, Bytes bytes) {
    file.write_at(written_, bytes);
    written_ += bytes.size();
    writeback_.advance(file.fd(), written_);
  }

  std::uint64_t written_;
  std::vector<std::byte> waiting_;  // what comes next
  Writeback writeback_;
};

/// A new file written from front to back. For one thread.
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
