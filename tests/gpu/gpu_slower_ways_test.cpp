// What is asked to be done in a slower way, and what the device decodes.
#include <cstdlib>
#include <utility>

#include "bale/tests/gpu/gpu_support.hpp"

using namespace bale;
using namespace bale::test;

namespace {

/// Mean difference, of 255, below which two batches show the same images: decoders round and interpolate differently,
/// and these images have hard edges. That of other images is more than 60.
constexpr double k_same_image = 12;

/// Mean difference of the values of two rows of uint8 images.
double mean_difference(const Snapshot& a, const Snapshot& b) {
  REQUIRE(a.images.size() == b.images.size());
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < a.images.size(); ++i) {
    sum += static_cast<std::uint64_t>(std::abs(std::to_integer<int>(a.images[i]) - std::to_integer<int>(b.images[i])));
  }
  return static_cast<double>(sum) / static_cast<double>(a.images.size());
}

CudaOptions decoding_device() {
  const char* const library = std::getenv("BALE_NVJPEG");
  return {.decode = DecodeOn::device, .nvjpeg_library = library != nullptr ? library : ""};
}

}  // namespace

TEST_CASE("Copies from ordinary memory give the same batches, and are counted") {
  const Pack pack(60);
  for (const DType dtype : {DType::uint8, DType::float16}) {
    LoaderOptions options = small_batches(2, WorkerMode::threads);
    options.transform.dtype = dtype;
    options.prefetch = 2;
    const Device device;
    expect_pageable_copies();
    CudaLoader loader(pack.path, options, {.depth = 1, .hold = 1, .page_lock = false});
    SlowTrainer trainer(device.context());
    for (int epoch = 0; epoch < 2; ++epoch) train_epoch(loader, trainer);
    CHECK(trainer.finish() == on_host(pack.path, options, 2));
    CHECK(loader.counters().pageable_bytes > 0);
    CHECK(loader.counters().pageable_bytes == loader.counters().copied_bytes);
    for (const std::string& refusal : loader.fallbacks()) CHECK(refusal.find("page-lock") == std::string::npos);
  }
}

TEST_CASE("A device that decodes gives the rows of the workers, with nearly their pixels") {
  const Pack pack(90);
  LoaderOptions options = small_batches(2, WorkerMode::threads);
  options.on_bad_sample = OnBadSample::skip;
  const auto expected = on_host(pack.path, options);
  const Device device;
  CudaLoader loader(pack.path, options, decoding_device());
  if (!loader.decodes_on_device()) {
    refuses_nothing(loader);
    return;
  }
  auto decoded = on_device(loader);
  CHECK(loader.decodes_on_device());
  CHECK(loader.counters().decoded_on_device > 0);
  REQUIRE(decoded.size() == expected.size());
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    INFO("batch " << i);
    CHECK(mean_difference(decoded[i], expected[i]) < k_same_image);
    decoded[i].images = expected[i].images;
    CHECK(decoded[i] == expected[i]);
  }
}

TEST_CASE("A device that decodes resumes, and gives a sample the same pixels again") {
  const Pack pack(90);
  LoaderOptions options = small_batches(2, WorkerMode::threads);
  options.on_bad_sample = OnBadSample::skip;
  const Device device;
  CudaLoader first(pack.path, options, decoding_device());
  if (!first.decodes_on_device()) {
    refuses_nothing(first);
    return;
  }
  const auto whole = on_device(first);
  first.set_epoch(0);
  for (int i = 0; i < 5; ++i) REQUIRE(first.next());
  options.workers = 1;
  CudaLoader second(pack.path, options, decoding_device());
  second.load_state(first.state());
  const auto rest = on_device(second);
  REQUIRE(rest.size() + 5 == whole.size());
  for (std::size_t i = 0; i < rest.size(); ++i) {
    CHECK(rest[i].samples == whole[i + 5].samples);
    CHECK(mean_difference(rest[i], whole[i + 5]) < 1);
  }
}
