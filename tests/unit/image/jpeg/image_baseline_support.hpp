// What the tests of the baseline decoder share: images that are its own, and decoding by one decoder or the other.
#pragma once

#include <string>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/image_decoder.hpp"
#include "bale/formats/image/jpeg/decode/baseline_decoder.hpp"
#include "bale/tests/unit/image/image_samples.hpp"

namespace bale::test {

using Buffer = std::vector<std::byte>;

/// Those that the baseline decoder reads.
inline const std::vector<std::vector<Sampling>> k_baseline_samplings = {
    {{1, 1}},                  // gray
    {{2, 2}},                  // gray, as some encoders write it
    {{1, 1}, {1, 1}, {1, 1}},  // 4:4:4
    {{2, 1}, {1, 1}, {1, 1}},  // 4:2:2
    {{2, 2}, {1, 1}, {1, 1}},  // 4:2:0
    {{1, 2}, {1, 1}, {1, 1}},  // 4:4:0
};

struct Decoded {
  std::vector<std::uint8_t> pixels{};
  std::string error{};

  bool operator==(const Decoded&) const = default;
};

inline std::vector<std::uint8_t> pixels_of(const PixelView& view) {
  std::vector<std::uint8_t> pixels;
  for (std::size_t y = 0; y < view.height; ++y) {
    const std::uint8_t* const row = view.rgb + y * view.stride;
    pixels.insert(pixels.end(), row, row + std::size_t{view.width} * 3);
  }
  return pixels;
}

/// Of a decoder whose image is open.
inline Decoded read_region(ImageDecoder& decoder, const Region& region) {
  Decoded result;
  result.error = message_of([&] { result.pixels = pixels_of(decoder.read(region)); });
  return result;
}

inline Decoded decode_region(ImageDecoder& decoder, image_detail::BaselineUse use, Bytes jpeg, const Region& region,
                             const KeptSeekPoints& entry = {}) {
  image_detail::set_baseline_use(use);
  Decoded result;
  const std::string refusal = message_of([&] {
    decoder.open(jpeg, 1 << 22, WholeCheck::none);
    decoder.use_seek_points(entry);
    result = read_region(decoder, region);
  });
  if (!refusal.empty()) result.error = refusal;
  image_detail::set_baseline_use(image_detail::BaselineUse::automatic);
  return result;
}

/// libjpeg against the baseline decoder, side by side.
class DecoderPair {
 public:
  /// `uses` counts what the baseline decoder did.
  explicit DecoderPair(std::uint64_t (*uses)()) : uses_(uses) {}

  void compare(const Buffer& jpeg, const Region& region, const KeptSeekPoints& entry = {},
               image_detail::BaselineUse own = image_detail::BaselineUse::automatic) {
    const Decoded expected = decode_region(theirs_, image_detail::BaselineUse::never, jpeg, region);
    const std::uint64_t before = uses_();
    if (decode_region(ours_, own, jpeg, region, entry) != expected) ++differences_;
    used_ += uses_() - before;
    ++compared_;
    if (!expected.error.empty()) ++refused_;
  }

  std::uint64_t compared() const { return compared_; }
  std::uint64_t differences() const { return differences_; }
  std::uint64_t used() const { return used_; }
  std::uint64_t refused() const { return refused_; }

 protected:
  ImageDecoder ours_;

 private:
  ImageDecoder theirs_;
  std::uint64_t (*uses_)();
  std::uint64_t compared_ = 0;
  std::uint64_t differences_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t refused_ = 0;
};

inline Region draw_region(std::mt19937& random, std::uint32_t width, std::uint32_t height) {
  Region region{static_cast<std::uint32_t>(random() % width), static_cast<std::uint32_t>(random() % height), 1, 1};
  region.width = 1 + static_cast<std::uint32_t>(random() % (width - region.x));
  region.height = 1 + static_cast<std::uint32_t>(random() % (height - region.y));
  return region;
}

inline JpegSample draw_baseline_sample(std::mt19937& random, std::uint32_t max_side) {
  JpegSample sample;
  // Where chroma has two columns or fewer, libjpeg's filter is another, and libjpeg decodes.
  sample.width = 5 + static_cast<std::uint32_t>(random() % (max_side - 4));
  sample.height = 1 + static_cast<std::uint32_t>(random() % max_side);
  sample.sampling = k_baseline_samplings[random() % k_baseline_samplings.size()];
  sample.quality = 5 + static_cast<int>(random() % 96);
  sample.restart_interval = random() % 2 == 0 ? 0 : 1 + static_cast<int>(random() % 12);
  sample.optimized = random() % 2 == 0;
  return sample;
}

}  // namespace bale::test
