// Whatever the bytes, an image of one kind decodes within its budget, the same way twice, or is refused.
#pragma once

#include <cstdlib>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/image/image_check.hpp"
#include "bale/tests/fuzz/fuzz_support.hpp"

namespace bale::test {

/// Other kinds are left to their own targets.
inline int decode_kind(ImageKind kind, const unsigned char* data, std::size_t size) {
  constexpr std::uint64_t k_max_pixels = std::uint64_t{1} << 16;
  const Bytes bytes = input_bytes(data, size);
  if (probe_image(bytes).kind != kind) return 0;
  const ImageFacts facts = check_image(bytes, ImageCheck::quick, k_max_pixels);
  try {
    const Image image = decode_image(bytes, k_max_pixels);
    if (std::uint64_t{image.width} * image.height > k_max_pixels) std::abort();
    if (image.rgb.size() != std::size_t{image.width} * image.height * 3) std::abort();
    if (facts.condition != ImageCondition::complete) std::abort();  // nothing that decodes is reported
    const Image again = decode_image(bytes, k_max_pixels);
    if (again.rgb != image.rgb) std::abort();  // no pixel comes from memory that nobody wrote
  } catch (const Error&) {
  }
  return 0;
}

}  // namespace bale::test
