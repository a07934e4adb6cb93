// Byte stuffing that is removed by vectors: the same as byte by byte, wherever 0xFF is.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "bale/formats/image/jpeg/entropy/baseline_segment.hpp"
#include "bale/formats/image/simd/simd_target.hpp"
#include "bale/tests/support/catch.hpp"

using namespace bale;
using namespace bale::image_detail;

namespace {

using Octets = std::vector<std::uint8_t>;

constexpr std::ptrdiff_t k_most_left = 66;  // bytes before the end that no vector may read

/// Bytes of a scan, with many 0xFF; followed by a marker now and then, if wanted.
Octets draw(std::mt19937& random, bool has_markers) {
  Octets bytes;
  const std::size_t size = random() % 400;
  while (bytes.size() < size) {
    if (random() % 8 != 0) {
      bytes.push_back(static_cast<std::uint8_t>(random() % 3 == 0 ? 0 : random() % 255));
      continue;
    }
    bytes.push_back(0xFF);
    bytes.push_back(has_markers && random() % 16 == 0 ? static_cast<std::uint8_t>(1 + random() % 255) : 0);
  }
  return bytes;
}

Octets expected(const std::uint8_t* from, const std::uint8_t* end) {
  Octets bytes;
  while (from < end) {
    bytes.push_back(*from);
    from += *from == 0xFF ? 2 : 1;
  }
  return bytes;
}

/// Whether the bytes at `at` are a marker, or more of 0xFF.
bool is_marker(const Octets& bytes, std::ptrdiff_t at) {
  const auto i = static_cast<std::size_t>(at);
  return i + 1 < bytes.size() && bytes[i] == 0xFF && bytes[i + 1] != 0;
}

std::ptrdiff_t first_marker(const Octets& bytes) {
  for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
    if (bytes[i] == 0xFF && bytes[i + 1] != 0) return static_cast<std::ptrdiff_t>(i);
  }
  return static_cast<std::ptrdiff_t>(bytes.size());
}

}  // namespace

TEST_CASE("Byte stuffing is removed up to a marker or the end, with every instruction set") {
  for (const std::string& target : simd_targets()) {
    INFO(target);
    limit_simd(target);
    std::mt19937 random(21);
    for (int i = 0; i < 20'000; ++i) {
      const Octets bytes = draw(random, i % 2 == 0);
      Octets out(bytes.size() + k_unstuffing_padding);
      const UnstuffedTo to = remove_stuffing(bytes.data(), bytes.data() + bytes.size(), out.data());
      const std::ptrdiff_t read = to.from - bytes.data();
      REQUIRE(read <= first_marker(bytes));
      REQUIRE((is_marker(bytes, read) || static_cast<std::ptrdiff_t>(bytes.size()) - read <= k_most_left));
      out.resize(static_cast<std::size_t>(to.to - out.data()));
      REQUIRE(out == expected(bytes.data(), to.from));
    }
  }
  limit_simd("");
}
