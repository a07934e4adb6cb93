// GatheredWrites: writes bytes one after another into a part of a file, small ones together. For one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/writeback.hpp"

namespace bale {

class GatheredWrites {
 public:
  /// For the part of a file that begins at `begin`.
  explicit GatheredWrites(std::uint64_t begin = 0) : written_(begin), writeback_(begin) {}

  /// Offset of the next part.
  std::uint64_t end() const { return written_ + waiting_.size(); }

  /// Appends the parts in order, and does not keep them. Few bytes wait in memory for those that follow. Throws `io`,
  /// also for bytes that waited.
  void append(File& file, std::span<const Bytes> parts) {
    std::size_t bytes = 0;
    for (const Bytes part : parts) bytes += part.size();
    if (bytes > k_few_bytes) {
      flush(file);
      file.write_all_at(written_, parts);
      advance(file, bytes);
      return;
    }
    for (const Bytes part : parts) waiting_.insert(waiting_.end(), part.begin(), part.end());
    if (waiting_.size() >= k_waiting_bytes) flush(file);
  }

  /// Writes the bytes that wait. Throws `io`.
  void flush(File& file) {
    if (waiting_.empty()) return;
    file.write_at(written_, waiting_);
    advance(file, waiting_.size());
    waiting_.clear();
  }

 private:
  // A call of the kernel costs as much as copying some thousand bytes.
  static constexpr std::size_t k_few_bytes = std::size_t{8} << 10;
  static constexpr std::size_t k_waiting_bytes = std::size_t{64} << 10;

  void advance(const File& file, std::uint64_t bytes) {
    written_ += bytes;
    writeback_.advance(file.fd(), written_);
  }

  std::uint64_t written_;
  std::vector<std::byte> waiting_;  // what comes next
  Writeback writeback_;
};

}  // namespace bale
