// What a driver or a device refuses is done in a slower way, with the same batches. Streams that are special.
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "bale/tests/unit/cuda/cuda_support.hpp"

using namespace bale;
using namespace bale::test;
using cuda_detail::Context;
using fake_cuda::Pace;

namespace {

struct Refusal {
  const char* function;
  int result;
};
// CUresult: not permitted, not supported, out of memory; no compiler for PTX, PTX too new, PTX that is invalid, no
// code for this device, compilation disabled, a compiler that does not start, not supported; and the same of a driver
// that compiles when the kernel is looked for.
constexpr Refusal k_no_locking[] = {
    {"cuMemHostRegister_v2", 800}, {"cuMemHostRegister_v2", 801}, {"cuMemHostAlloc", 2}};
constexpr Refusal k_no_kernels[] = {
    {"cuModuleLoadData", 221}, {"cuModuleLoadData", 222},    {"cuModuleLoadData", 218},
    {"cuModuleLoadData", 209}, {"cuModuleLoadData", 223},    {"cuModuleLoadData", 303},
    {"cuModuleLoadData", 801}, {"cuModuleGetFunction", 209}, {"cuModuleGetFunction", 221}};

struct Delivered {
  std::vector<Snapshot> batches{};
  CudaCounters counters{};
  std::vector<std::string> fallbacks{};
  bool converts = false;
};

Delivered two_epochs(const std::string& pack, const LoaderOptions& options, const CudaOptions& cuda,
                     const std::vector<Refusal>& refusals) {
  const FakeDevice device(Pace::thread);
  for (const Refusal& refusal : refusals) fake_cuda::refuse(refusal.function, refusal.result);
  if (!refusals.empty()) fake_cuda::take_pageable();
  CudaLoader loader(pack, options, cuda);
  Trainer trainer(Context::open(0));
  for (int epoch = 0; epoch < 2; ++epoch) train_epoch(loader, trainer);
  return {trainer.finish(), loader.counters(), loader.fallbacks(), loader.converts_on_device()};
}

LoaderOptions float_batches(DType dtype, PixelLayout layout, std::uint32_t size) {
  LoaderOptions options = small_batches(2, WorkerMode::threads);
  options.transform = float_transform(dtype, layout, size);
  options.transform = without_flips(options.transform);
  options.on_bad_sample = OnBadSample::skip;
  return options;
}

}  // namespace

TEST_CASE("Without page-locked memory the batches are the same, and it is counted and reported once") {
  const Pack pack(41);
  for (const DType dtype : {DType::uint8, DType::float16}) {
    LoaderOptions options = small_batches(2, WorkerMode::threads);
    options.transform.dtype = dtype;
    const Delivered usual = two_epochs(pack.path, options, {}, {});
    CHECK(usual.counters.pageable_bytes == 0);
    CHECK(usual.fallbacks.empty());
    for (const Refusal& refusal : k_no_locking) {
      const Delivered slower = two_epochs(pack.path, options, {}, {refusal});
      CHECK(slower.batches == usual.batches);
      CHECK(slower.counters.pageable_bytes > 0);
      REQUIRE(slower.fallbacks.size() == 1);
      CHECK(slower.fallbacks[0].find("the driver does not page-lock memory, so copies to the device are slower: ") ==
            0);
    }
    CHECK(two_epochs(pack.path, options, {}, {k_no_locking[0], k_no_locking[2], k_no_kernels[0]}).batches ==
          usual.batches);
  }
}

TEST_CASE("A device that does not take the kernels gets converted pixels from the workers") {
  const Pack pack(41, {7, 8});
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32}) {
    const LoaderOptions options = float_batches(dtype, PixelLayout::nchw, 20);
    const Delivered usual = two_epochs(pack.path, options, {}, {});
    CHECK(usual.converts);
    for (const Refusal& refusal : k_no_kernels) {
      const Delivered slower = two_epochs(pack.path, options, {}, {refusal});
      CHECK_FALSE(slower.converts);
      CHECK(slower.batches == usual.batches);
      REQUIRE(slower.fallbacks.size() == 1);
      CHECK(slower.fallbacks[0].find("the device does not take bale's kernels, so workers convert pixels: ") == 0);
    }
  }
}

TEST_CASE("A device that does not take the kernels gets mirrored and mixed pixels from this process") {
  const Pack pack(41, {7, 8});
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32}) {
    for (const PixelLayout layout : {PixelLayout::nchw, PixelLayout::nhwc}) {
      for (const std::uint32_t size : {20U, 13U}) {
        const LoaderOptions options = float_batches(dtype, layout, size);
        for (const CudaOptions& cuda : {CudaOptions{.flip_probability = 0.5}, CudaOptions{.mix = {.mixup_alpha = 0.8}},
                                        CudaOptions{.flip_probability = 0.5, .mix = {.cutmix_alpha = 1}}}) {
          const Delivered usual = two_epochs(pack.path, options, cuda, {});
          CHECK(usual.converts);
          const Delivered slower = two_epochs(pack.path, options, cuda, {k_no_kernels[0]});
          CHECK_FALSE(slower.converts);
          CHECK(slower.batches == usual.batches);
          REQUIRE(slower.fallbacks.size() == 1);
          CHECK(slower.fallbacks[0].find("so this process converts, mirrors and mixes pixels: ") != std::string::npos);
          CudaOptions by_choice = cuda;
          by_choice.convert = false;
          const Delivered chosen = two_epochs(pack.path, options, by_choice, {});
          CHECK(chosen.batches == usual.batches);
          CHECK(chosen.fallbacks.empty());
        }
      }
    }
  }
}

TEST_CASE("A stream that is being captured gets no batch, and none is lost") {
  const Pack pack(41);
  const FakeDevice device;
  CudaLoader loader(pack.path, small_batches(1), {});
  Trainer trainer(Context::open(0));
  const cuda_detail::Stream graph(Context::open(0));
  std::optional<DeviceBatch> batch = loader.next(trainer.stream());
  const std::uint64_t first = batch->index();
  fake_cuda::set_captured(graph.handle(), true);
  const std::string told =
      "this stream is being captured into a CUDA graph; take the batch before the capture, and copy it "
      "into the memory that the graph reads";
  CHECK(message_of([&] { (void)loader.next(graph.handle()); }) == told);
  CHECK(message_of([&] { batch->use_on(graph.handle()); }) == told);
  fake_cuda::set_captured(graph.handle(), false);
  batch->use_on(graph.handle());
  CHECK(loader.next(graph.handle())->index() == first + 1);
  batch.reset();
  graph.synchronize();
}

TEST_CASE("Memory that was given back while its stream was being captured is not reused before the capture is over") {
  const Pack pack(200);
  for (const DType dtype : {DType::uint8, DType::float16}) {
    const FakeDevice device;
    LoaderOptions options = small_batches(1);
    options.transform.dtype = dtype;
    CudaLoader loader(pack.path, options, {.depth = 1, .hold = 1});
    Trainer trainer(Context::open(0));
    const cuda_detail::Stream graph(Context::open(0));
    std::optional<DeviceBatch> batch = loader.next(graph.handle());
    const void* const memory = batch->images();
    fake_cuda::set_captured(graph.handle(), true);
    batch.reset();
    std::set<const void*> used;
    for (int i = 0; i < 8; ++i) used.insert(loader.next(trainer.stream())->images());
    CHECK(used.count(memory) == 0);
    fake_cuda::set_captured(graph.handle(), false);
    for (int i = 0; i < 40; ++i) {
      if (const auto next = loader.next(trainer.stream())) used.insert(next->images());
    }
    CHECK(used.count(memory) == 1);
  }
}

TEST_CASE("A batch of a thread's default stream may be let go of by another thread") {
  const Pack pack(41);
  const FakeDevice device;
  CudaLoader loader(pack.path, small_batches(1), {});
  std::optional<DeviceBatch> batch = loader.next(cuda_detail::k_stream_of_thread);
  const std::uint64_t waits = fake_cuda::num_calls("cuCtxSynchronize");
  // Its name means another stream in that thread, so only the whole device can be waited for.
  std::thread([&] { batch.reset(); }).join();
  CHECK(fake_cuda::num_calls("cuCtxSynchronize") == waits + 1);
  batch = loader.next(cuda_detail::k_stream_of_thread);
  batch.reset();
  CHECK(fake_cuda::num_calls("cuCtxSynchronize") == waits + 1);
}
