// Whatever the bytes, both JPEG decoders give the same pixels of a region, or both refuse for the same reason. The
// region is drawn from the first eight bytes, the JPEG follows.
#include <cstdlib>
#include <string>
#include <vector>

#include "bale/formats/core/error.hpp"
#include "bale/formats/image/baseline_decoder.hpp"
#include "bale/formats/image/image_decoder.hpp"

namespace {

using bale::image_detail::BaselineUse;

constexpr std::size_t k_head_bytes = 8;
constexpr std::uint64_t k_max_pixels = std::uint64_t{1} << 18;

struct Result {
  std::vector<std::uint8_t> pixels{};
  std::string error{};

  bool operator==(const Result&) const = default;
};

bale::Region draw(const unsigned char* head, std::uint32_t width, std::uint32_t height) {
  const auto value = [head](std::size_t i) { return static_cast<std::uint32_t>(head[i] << 8 | head[i + 1]); };
  bale::Region region{.x = value(0) % width, .y = value(2) % height};
  region.width = 1 + value(4) % (width - region.x);
  region.height = 1 + value(6) % (height - region.y);
  return region;
}

Result decode(bale::ImageDecoder& decoder, BaselineUse use, const unsigned char* head, bale::Bytes jpeg) {
  bale::image_detail::set_baseline_use(use);
  Result result;
  try {
    const bale::ImageHeader header = decoder.open(jpeg, k_max_pixels);
    const bale::PixelView view = decoder.read(draw(head, header.width, header.height));
    for (std::size_t y = 0; y < view.height; ++y) {
      const std::uint8_t* const row = view.rgb + y * view.stride;
      result.pixels.insert(result.pixels.end(), row, row + std::size_t{view.width} * 3);
    }
  } catch (const bale::Error& error) {
    result.error = error.what();
  }
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size < k_head_bytes) return 0;
  const bale::Bytes jpeg(reinterpret_cast<const std::byte*>(data + k_head_bytes), size - k_head_bytes);
  if (bale::probe_image(jpeg).kind != bale::ImageKind::jpeg) return 0;
  static bale::ImageDecoder ours;
  static bale::ImageDecoder theirs;
  const Result expected = decode(theirs, BaselineUse::never, data, jpeg);
  if (decode(ours, BaselineUse::automatic, data, jpeg) != expected) std::abort();
  if (decode(ours, BaselineUse::plain, data, jpeg) != expected) std::abort();
  return 0;
}
