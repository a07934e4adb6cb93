// Encoded images of every shape that the decoders read, for their tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "bale/tests/support/error_of.hpp"

namespace bale::test {

struct Sampling {
  int horizontal = 1;
  int vertical = 1;
};

struct JpegSample {
  std::uint32_t width = 1;
  std::uint32_t height = 1;
  std::vector<Sampling> sampling{{2, 2}, {1, 1}, {1, 1}};  // one a component: 1, 3 or 4
  bool transformed = true;                                 // YCbCr, YCCK; else RGB, CMYK
  int quality = 85;
  int restart_interval = 0;  // MCUs
  int restart_rows = 0;      // instead of it, rows of the MCUs of each scan
  bool optimized = false;    // Huffman tables of its own
  bool arithmetic = false;
  bool one_table = false;  // all components have the same Huffman tables
  /// `drawn`: a progressive script that is drawn at random and gives every bit.
  enum class Scans { one, separate, progressive, unrefined, drawn } scans = Scans::one;
};

/// Smooth colors under noise, so that every block has coefficients of its own. Throws std::runtime_error.
std::vector<std::byte> make_jpeg(const JpegSample& sample, std::mt19937& random);

struct PngSample {
  std::uint32_t width = 1;
  std::uint32_t height = 1;
  int bit_depth = 8;
  int color_type = 2;
  bool interlaced = false;
};

std::vector<std::byte> make_png(const PngSample& sample, std::mt19937& random);

/// The bytes with `count` bits flipped.
inline void flip_bits(std::vector<std::byte>& bytes, std::uint32_t count, std::mt19937& random) {
  for (; count > 0; --count) bytes[random() % bytes.size()] ^= static_cast<std::byte>(1u << random() % 8);
}

inline std::vector<std::byte> first_bytes(const std::vector<std::byte>& bytes, std::size_t count) {
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count)};
}

/// Whether `decode` gives pixels rather than a bale::Error for damaged or unsupported bytes.
template <typename Decode>
bool decodes(const Decode& decode) {
  const std::optional<Error> error = thrown_by(decode);
  if (error) REQUIRE((error->code() == ErrorCode::damaged || error->code() == ErrorCode::unsupported));
  return !error;
}

}  // namespace bale::test
