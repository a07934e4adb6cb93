// JPEGs with given coefficients, for tests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bale::test {

/// In zigzag order.
using CoefficientBlock = std::array<std::int16_t, 64>;

struct CoefficientJpeg {
  std::vector<CoefficientBlock> blocks{};  // of a gray image
  bool progressive = false;                // in scans of two steps
  int quantizer = 1;
  std::uint32_t across = 3;  // blocks
};

/// By libjpeg. Throws std::runtime_error if it refuses.
std::vector<std::byte> jpeg_of_coefficients(const CoefficientJpeg& jpeg);

}  // namespace bale::test
