// A digest of a batch's content.
#pragma once

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/loader/batch.hpp"
#include "bale/tests/support/drawn.hpp"

namespace bale::test {

/// Covers epoch, samples, labels, mask, draws and pixels. Batches that differ in any of them have different digests.
inline std::uint64_t digest(const Batch& batch) {
  std::uint64_t sum = mix64(batch.epoch());
  const auto add = [&](Bytes bytes) { sum = mix64(sum ^ crc32c(bytes)) + bytes.size(); };
  add(std::as_bytes(batch.samples()));
  add(std::as_bytes(batch.labels()));
  add(std::as_bytes(batch.mask()));
  for (std::size_t i = 0; i < batch.size(); ++i) {
    add(batch.image(i));
    const Drawn draw = drawn(batch.steps(i));
    const Region& crop = draw.crop;
    sum = mix64(sum + crop.x + crop.y * 7919ULL + crop.width * 104729ULL + crop.height * 1299709ULL + draw.flip);
  }
  return sum;
}

}  // namespace bale::test
