// JsonElements: reads a large JSON file whose top level is an object of arrays, one element of an array at a time.
//
// Only the structure around the elements is checked; the caller parses each element. Memory: one block and the largest
// element. For one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bale/formats/base/file.hpp"

namespace bale {

class JsonElements {
 public:
  static constexpr std::size_t k_max_element_bytes = std::size_t{64} << 20;

  /// Throws `not_found`, `io`.
  explicit JsonElements(const std::string& path);

  /// Moves to the next element of an array at the top level. Returns false at the end. Throws `damaged` with the offset
  /// if the file is cut short or no such JSON, `unsupported` for an element larger than k_max_element_bytes, `io`.
  bool next();
  /// Name of the array. Valid until the next call of next(), as element().
  std::string_view array() const { return array_; }
  std::string_view element() const { return std::string_view(buffer_).substr(begin_, end_ - begin_); }
  /// Offset of the element in the file.
  std::uint64_t offset() const { return base_ + begin_; }

 private:
  [[noreturn]] void fail(std::string_view what) const;
  int peek();
  int peek_after_space();
  void expect(char wanted);
  void take_string();
  void skip_value();
  bool enter_array();
  bool fill();

  File file_;
  std::string buffer_;
  std::uint64_t base_ = 0;  // offset of buffer_ in the file
  std::size_t at_ = 0;      // next byte in buffer_
  std::size_t begin_ = 0;   // of what must stay in buffer_
  std::size_t end_ = 0;     // of the element
  bool keeps_ = false;      // bytes from begin_ on must stay
  bool started_ = false;
  bool in_array_ = false;
  std::string array_;
};

}  // namespace bale
