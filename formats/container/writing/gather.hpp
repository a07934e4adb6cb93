// Gather: a part of a file that is being built. Small pieces are copied together, large ones are borrowed.
//
// For one thread. Meant to be reused: it keeps its memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bale/formats/base/bytes.hpp"

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

}  // namespace bale
