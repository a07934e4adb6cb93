// Pseudorandom bytes and images that do not compress. The same seed gives the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "bale/formats/image/image.hpp"

namespace bale::test {

inline std::string random_bytes(std::size_t size, std::uint64_t seed) {
  std::string bytes(size, '\0');
  std::uint64_t state = 0x9E3779B97F4A7C15U * (seed + 1);
  for (char& byte : bytes) {
    // xorshift64 (Marsaglia, 2003)
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    byte = static_cast<char>(state >> 32);
  }
  return bytes;
}

inline Image random_image(std::uint32_t width, std::uint32_t height, std::uint64_t seed = 1) {
  const std::string bytes = random_bytes(std::size_t{width} * height * 3, seed);
  return {.width = width, .height = height, .rgb = {bytes.begin(), bytes.end()}};
}

}  // namespace bale::test
