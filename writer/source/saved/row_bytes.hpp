// RowWriter and RowReader: numbers and texts of a saved row, one after another. Numbers are LEB128 varints, signed ones
// zigzag-coded; a text is its length and its bytes.
//
// For one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bale/formats/base/error.hpp"

namespace bale {

class RowWriter {
 public:
  /// Appends to `out`, which must outlive this object.
  explicit RowWriter(std::string& out) : out_(out) {}

  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }
  void integer(std::int64_t value) {
    number((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void text(std::string_view value) {
    number(value.size());
    out_ += value;
  }

 private:
  std::string& out_;
};

/// Throws `damaged` if the row ends early.
class RowReader {
 public:
  /// Borrows `row`.
  explicit RowReader(std::string_view row) : left_(row) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (left_.empty()) break;
      const auto byte = static_cast<unsigned char>(left_.front());
      left_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80) return value;
    }
    refuse();
  }
  std::int64_t integer() {
    const std::uint64_t value = number();
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
  }
  /// Borrows from the row.
  std::string_view text() {
    const std::uint64_t size = number();
    if (size > left_.size()) refuse();
    const std::string_view value = left_.substr(0, size);
    left_.remove_prefix(size);
    return value;
  }
  bool at_end() const { return left_.empty(); }
  [[noreturn]] static void refuse() { throw Error(ErrorCode::damaged, "a row of the plan is damaged"); }

 private:
  std::string_view left_;
};

}  // namespace bale
