// Whatever the bytes, an image of each mode is made into its row of a batch, the same way twice, or refused: pixels of
// one channel, with alpha, and of 16 bits have their own ways through the decoders and the steps.
#include <array>
#include <cstdlib>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/sample_pipeline.hpp"
#include "bale/loader/transform/transforms.hpp"
#include "bale/tests/fuzz/fuzz_support.hpp"

namespace {

namespace T = bale::transforms;
using bale::PixelMode;

bale::TransformList list_of(PixelMode mode) {
  const T::RandomResizedCrop crop{.size = {.height = 20, .width = 24}};
  if (mode == PixelMode::gray_16)
    return {crop, T::RandomHorizontalFlip{}, T::CenterCrop{.size = {.height = 22, .width = 18}}};
  return {T::RandomRotation{.degrees = {-30, 30}, .interpolation = bale::Sampling::bilinear}, crop,
          T::RandomHorizontalFlip{}, T::ColorJitter::symmetric(0.4, 0.4, 0.4, 0.1),
          T::RandomAdjustSharpness{.sharpness_factor = 2}};
}

void make(const bale::Transform& transform, bale::Bytes image, std::uint64_t sample) {
  constexpr std::uint64_t k_max_pixels = std::uint64_t{1} << 16;
  // Rows are as large as the transform says: what is written after them is found by AddressSanitizer.
  std::vector<std::byte> first(transform.image_bytes(), std::byte{1});
  std::vector<std::byte> second(transform.image_bytes(), std::byte{2});
  try {
    bale::SamplePipeline(transform, k_max_pixels).run(image, {.sample = sample}, first);
    bale::SamplePipeline(transform, k_max_pixels).run(image, {.sample = sample}, second);
  } catch (const bale::Error&) {
    return;
  }
  if (first != second) std::abort();  // a value comes from memory that nobody wrote
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const bale::Bytes bytes = bale::test::input_bytes(data, size);
  for (const PixelMode mode : {PixelMode::gray, PixelMode::rgba, PixelMode::gray_16}) {
    const bale::Transform transform =
        bale::list_transform(list_of(mode), bale::PixelLayout::nhwc, bale::PassOrder::pillow_13, mode);
    for (std::uint64_t sample = 0; sample < 2; ++sample) make(transform, bytes, sample);
  }
  return 0;
}
