// The shortest Huffman codes for counted symbols; internal.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace bale::image_detail {

constexpr std::size_t k_symbols = 256;

/// A Huffman table as a DHT segment has it (T.81, B.2.4.2), and the code of each symbol.
struct OptimalCodes {
  std::array<std::uint8_t, 17> num_codes{};       // by length; [0] is not used
  std::array<std::uint8_t, k_symbols> symbols{};  // in the order of their codes
  std::uint32_t num_symbols = 0;
  std::array<std::uint16_t, k_symbols> codes{};   // by symbol
  std::array<std::uint8_t, k_symbols> lengths{};  // by symbol; 0 if it has no code

  /// T.81, K.2 and figures C.1 to C.3. The very table that libjpeg makes of these counts: of two that are equally rare,
  /// it takes the larger symbol first. False if a code is longer than 32 bits before lengths are limited to 16, which
  /// libjpeg refuses, or if nothing was counted.
  bool build(std::span<const std::uint32_t, k_symbols> counts);

 private:
  void assign_codes();
};

}  // namespace bale::image_detail
