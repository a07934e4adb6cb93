// Batches on a device that the caller keeps: any number of them, and the memory that they take.
#include <deque>

#include <fmt/format.h>

#include "bale/tests/unit/cuda/cuda_support.hpp"

using namespace bale;
using namespace bale::test;
using cuda_detail::Context;
using fake_cuda::Pace;

TEST_CASE("Any number of batches on a device may be kept, and memory beyond hold is freed after them") {
  const Pack pack(160);
  for (const Pace pace : {Pace::when_asked, Pace::thread, Pace::late}) {
    for (const DType dtype : {DType::uint8, DType::float16}) {
      const FakeDevice device(pace);
      LoaderOptions options = small_batches(2, WorkerMode::threads);
      options.transform.dtype = dtype;
      Loader host(pack.path, options);
      const auto expected = snapshots(host, 2);
      CudaLoader loader(pack.path, options, {.depth = 2, .hold = 2});
      Trainer trainer(Context::open(0));
      const std::size_t bytes_at_first = fake_cuda::live().device_bytes;
      std::vector<DeviceBatch> kept;
      while (auto batch = loader.next(trainer.stream())) kept.push_back(*std::move(batch));
      REQUIRE(kept.size() == 20);
      CHECK(loader.counters().batches_beyond_hold == 18);
      CHECK_FALSE(kept[1].is_beyond_hold());
      CHECK(kept[2].is_beyond_hold());
      const std::size_t bytes_kept = fake_cuda::live().device_bytes;
      for (const DeviceBatch& batch : kept) trainer.step(batch);
      kept.clear();  // while the device still reads them
      train_epoch(loader, trainer);
      CHECK(trainer.finish() == expected);
      // What is left of the memory beyond: a buffer of each kind per batch that is copied ahead.
      const std::size_t bytes_left = bytes_at_first + 3 * ((bytes_kept - bytes_at_first) / 18);
      for (int i = 0; i < 400 && fake_cuda::live().device_bytes > bytes_left; ++i) (void)loader.next(trainer.stream());
      CHECK(fake_cuda::live().device_bytes <= bytes_left);
    }
  }
}

TEST_CASE("A caller that always holds more batches than hold takes device memory once, not in every step") {
  const Pack pack(80);
  const FakeDevice device(Pace::thread);
  LoaderOptions options = small_batches(2, WorkerMode::threads);
  options.transform.dtype = DType::float16;
  CudaLoader loader(pack.path, options, {.depth = 2, .hold = 2});
  Trainer trainer(Context::open(0));
  std::deque<DeviceBatch> kept;
  std::uint64_t taken = 0;
  for (int batches = 0; batches < 60;) {
    auto batch = loader.next(trainer.stream());
    if (!batch) continue;
    kept.push_back(*std::move(batch));
    if (kept.size() == 5) kept.pop_front();
    trainer.finish();  // nothing uses what was let go of
    if (++batches == 20) taken = fake_cuda::num_calls("cuMemAlloc_v2");
  }
  CHECK(fake_cuda::num_calls("cuMemAlloc_v2") <= taken + 4);  // the most batches at a time may come late
  CHECK(fake_cuda::num_calls("cuMemFree_v2") == 0);
}

TEST_CASE("A device without memory for another batch says how many are held, and continues when some are let go") {
  const Pack pack(80);
  for (const DType dtype : {DType::uint8, DType::float16}) {
    for (std::uint64_t after = 0; after < 4; ++after) {
      const FakeDevice device;
      LoaderOptions options = small_batches(2, WorkerMode::threads);
      options.transform.dtype = dtype;
      Loader host(pack.path, options);
      CudaLoader loader(pack.path, options, {.depth = 1, .hold = 2});
      Trainer trainer(Context::open(0));
      std::vector<DeviceBatch> kept;
      for (int i = 0; i < 2; ++i) kept.push_back(*loader.next(trainer.stream()));
      constexpr int k_out_of_memory = 2;
      std::uint64_t calls = 0;
      fake_cuda::on_call([&calls, after](const char* function) {
        if (std::string(function) != "cuMemAlloc_v2" || calls++ < after) return;
        fake_cuda::fail_once("cuMemAlloc_v2", 0, k_out_of_memory);
      });
      std::string message;
      while (message.empty()) {
        message = message_of([&] { kept.push_back(*loader.next(trainer.stream())); });
        REQUIRE(kept.size() < 10);
      }
      CHECK(message.find(fmt::format("no memory for another batch on the device, of which the caller holds {}: CUDA: ",
                                     kept.size())) == 0);
      CHECK(message.find("out of memory") != std::string::npos);
      CHECK(message.find("let go of batches, or copy what you keep of them") != std::string::npos);
      for (const DeviceBatch& batch : kept) trainer.step(batch);
      kept.clear();
      train_epoch(loader, trainer);
      fake_cuda::on_call({});
      CHECK(trainer.finish() == snapshots(host));
    }
  }
}
