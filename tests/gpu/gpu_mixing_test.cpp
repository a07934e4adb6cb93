// Images that the device mirrors and mixes are those that the host makes, bit for bit.
#include "bale/tests/gpu/gpu_support.hpp"

using namespace bale;
using namespace bale::test;

namespace {

/// Calls `check` with options of every float type and layout, and of widths that the kernels take four and one at a
/// time.
template <typename Check>
void for_each_type(const Check& check) {
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32}) {
    for (const PixelLayout layout : {PixelLayout::nchw, PixelLayout::nhwc}) {
      for (const std::uint32_t size : {20U, 13U}) {
        LoaderOptions options = float_batches(dtype, layout, size);
        options.transform = without_flips(options.transform);
        options.on_bad_sample = OnBadSample::skip;
        check(options);
      }
    }
  }
}

std::vector<Snapshot> made(const std::string& pack, const LoaderOptions& options, CudaOptions cuda,
                           bool on_the_device) {
  cuda.convert = on_the_device;  // otherwise this process runs the kernels
  CudaLoader loader(pack, options, cuda);
  auto batches = on_device(loader, 2);
  if (refuses_nothing(loader)) CHECK(loader.converts_on_device() == on_the_device);
  return batches;
}

}  // namespace

TEST_CASE("The device mirrors as this process does") {
  const Pack pack(41, {7, 8});
  const Device device;
  for_each_type([&](const LoaderOptions& options) {
    const auto mirrored = made(pack.path, options, {.flip_probability = 0.5}, true);
    CHECK(mirrored == made(pack.path, options, {.flip_probability = 0.5}, false));
    CHECK(mirrored != made(pack.path, options, {}, true));
  });
}

TEST_CASE("The device mixes as a loader without one does") {
  const Pack pack(41, {7, 8});
  const Device device;
  for_each_type([&](LoaderOptions options) {
    for (const MixOptions& mix : {MixOptions{.mixup_alpha = 0.8}, MixOptions{.cutmix_alpha = 1},
                                  MixOptions{.mixup_alpha = 0.8, .cutmix_alpha = 1}}) {
      const auto mixed = made(pack.path, options, {.mix = mix}, true);
      options.mix = mix;
      CHECK(mixed == on_host(pack.path, options, 2));
      options.mix = {};
    }
  });
}

TEST_CASE("The device mirrors and mixes at once as this process does") {
  const Pack pack(41, {7, 8});
  const Device device;
  for_each_type([&](const LoaderOptions& options) {
    const CudaOptions both{.flip_probability = 0.5, .mix = {.mixup_alpha = 0.8, .cutmix_alpha = 1}};
    CHECK(made(pack.path, options, both, true) == made(pack.path, options, both, false));
  });
}
