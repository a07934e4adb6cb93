// Gather: a stretch of a file in the making: small pieces copied together, large ones taken from where they are.
//
// For one thread. Meant to be used again and again: it keeps its memory.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "bale/formats/base/bytes.hpp"

namespace bale {

class Gather {
 public:
  /// Payloads up to this size are copied; larger ones are borrowed.
  static constexpr std::size_t k_copied_bytes = 4096;

  void clear();
  /// Adds bytes that outlive the use of parts().
  void add(Bytes bytes);
  /// Adds bytes by a function that appends them to the vector it is given.
  template <typename Append>
  void add_by(Append append) {
    const std::size_t before = copied_.size();
    append(copied_);
    size_ += copied_.size() - before;
  }
  void add_zeros(std::size_t count);

  std::uint64_t size() const { return size_; }
  /// All that was added, in order; valid until the next change.
  std::span<const Bytes> parts();

 private:
  /// Either borrowed bytes or a range of copied_.
  struct Part {
    Bytes borrowed;
    std::size_t begin;
    std::size_t end;
  };
  void close_copied();

  std::uint64_t size_ = 0;
  std::vector<std::byte> copied_;
  std::size_t closed_ = 0;  // up to here copied_ is covered by parts
  std::vector<Part> parts_;
  std::vector<Bytes> spans_;
};

}  // namespace bale
