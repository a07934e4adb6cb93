// What the targets share that decode regions of JPEGs. Their inputs begin with 12 bytes: eight from which the region is
// drawn, and four of the target's own. The JPEG follows.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/image/image_decoder.hpp"
#include "bale/formats/image/jpeg/decode/baseline_decoder.hpp"

namespace bale::test {

using Record = std::vector<std::byte>;

inline constexpr std::size_t k_head_bytes = 12;
// Larger images only take longer.
inline constexpr std::uint64_t k_max_pixels = std::uint64_t{1} << 14;

struct Result {
  bool opened = false;  // the header was good
  std::vector<std::uint8_t> pixels{};
  std::string error{};

  bool operator==(const Result&) const = default;
};

inline void require(bool holds) {
  if (!holds) std::abort();
}

inline Region draw(const unsigned char* head, std::uint32_t width, std::uint32_t height) {
  const auto value = [head](std::size_t i) { return static_cast<std::uint32_t>(head[i] << 8 | head[i + 1]); };
  Region region{.x = value(0) % width, .y = value(2) % height};
  region.width = 1 + value(4) % (width - region.x);
  region.height = 1 + value(6) % (height - region.y);
  return region;
}

/// Called between the opening of an image and its reading.
using Meanwhile = void (*)(ImageDecoder& decoder, const Region& region);

inline Result decode(ImageDecoder& decoder, image_detail::BaselineUse use, const unsigned char* head, Bytes jpeg,
                     const Record& record = {}, Meanwhile meanwhile = nullptr) {
  image_detail::set_baseline_use(use);
  Result result;
  try {
    const ImageHeader header = decoder.open(jpeg, k_max_pixels, WholeCheck::none);
    result.opened = true;
    if (!record.empty()) decoder.use_seek_points({.record = record, .image_crc32c = crc32c(jpeg)});
    const Region region = draw(head, header.width, header.height);
    if (meanwhile != nullptr) meanwhile(decoder, region);
    const PixelView view = decoder.read(region);
    for (std::size_t y = 0; y < view.height; ++y) {
      const std::uint8_t* const row = view.rgb + y * view.stride;
      result.pixels.insert(result.pixels.end(), row, row + std::size_t{view.width} * 3);
    }
  } catch (const Error& error) {
    result.error = error.what();
  }
  return result;
}

}  // namespace bale::test
