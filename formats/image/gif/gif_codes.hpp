// GIF's LZW codes as color indices; internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "bale/formats/image/codec/byte_reader.hpp"

namespace bale::image_detail {

/// Gives the strings of indices that the codes stand for. What is wrong in a file has the effect that it has in
/// Pillow's decoder: codes may continue after the end code and after an empty block, and a full table stays as it is.
class GifCodes {
 public:
  /// `bits` is at most 12. `bytes` must outlive this.
  GifCodes(Bytes bytes, std::size_t offset, std::uint32_t bits);

  struct String {
    const std::uint8_t* indices;
    std::size_t length;
  };
  /// The next string, never empty. Lifetime: until the next call. Throws `damaged`, also at the end of the bytes.
  String next();

 private:
  static constexpr std::uint32_t k_max_bits = 12;
  static constexpr std::size_t k_table = std::size_t{1} << k_max_bits;

  std::uint32_t read_code();
  void clear();
  String expand(std::uint32_t code);

  ByteReader in_;
  std::size_t at_;
  std::size_t left_in_block_ = 0;
  std::uint64_t bits_ = 0;
  std::uint32_t num_bits_ = 0;

  std::uint32_t first_bits_;
  std::uint32_t clear_;
  std::uint32_t code_bits_ = 0;
  std::uint32_t next_ = 0;       // the first code without a string
  std::uint32_t last_ = 0;       // the code before
  std::uint8_t last_first_ = 0;  // the first index of its string
  bool fresh_ = true;            // nothing came since the table was cleared

  // Of a code: the last index of its string, and the code of all that precedes it.
  std::array<std::uint8_t, k_table> index_;
  std::array<std::uint16_t, k_table> prefix_;
  std::array<std::uint8_t, k_table> string_;  // filled from its end
};

}  // namespace bale::image_detail
