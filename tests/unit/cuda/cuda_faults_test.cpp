// Workers that die during copies, devices that refuse or stop, callers that throw: no hang, no wrong batch, nothing
// left.
#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

#include "bale/formats/base/random.hpp"
#include "bale/tests/support/tier.hpp"
#include "bale/tests/unit/cuda/cuda_support.hpp"

using namespace bale;
using namespace bale::test;
using cuda_detail::Context;
using fake_cuda::Pace;

namespace {

constexpr int k_out_of_memory = 2;
constexpr int k_illegal_address = 700;

LoaderOptions converted_batches(unsigned workers, WorkerMode mode = WorkerMode::threads) {
  LoaderOptions options = small_batches(workers, mode);
  options.transform = float_transform(DType::float16, PixelLayout::nchw, 16);
  return options;
}

}  // namespace

TEST_CASE("Workers killed while slots are being copied leave the batches as they were") {
  const Pack pack(100);
  const LoaderOptions options = converted_batches(3, WorkerMode::processes);
  LoaderOptions plain = options;
  plain.workers = 0;
  Loader host(pack.path, plain);
  const FakeDevice device(Pace::thread);
  CudaLoader loader(pack.path, options, {});
  Trainer trainer(Context::open(0));
  KeyedRandom random{1};
  int kills = 0;
  for (int epoch = 0; kills < 60; ++epoch) {
    REQUIRE(epoch < 500);
    while (const auto batch = loader.next(trainer.stream())) {
      trainer.step(*batch);
      const auto pids = loader.worker_pids();
      if (pids.empty() || random.below(2) == 0) continue;
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(2000)));
      if (::kill(pids[random.below(pids.size())], SIGKILL) == 0) ++kills;
    }
    REQUIRE(trainer.finish() == snapshots(host));
  }
  CHECK(loader.bad_samples().empty());
}

TEST_CASE("A driver that fails once fails one call of next(), and no batch is lost or wrong") {
  const Pack pack(20);
  for (const bool converts : {true, false}) {
    LoaderOptions options = converted_batches(1);
    if (!converts) options.transform = train_transform(16);
    options.batch_size = 4;
    Loader host(pack.path, options);
    const auto expected = snapshots(host, 2);
    for (const char* const function : {"cuEventCreate", "cuEventRecord", "cuEventQuery", "cuStreamWaitEvent",
                                       "cuMemcpyHtoDAsync_v2", "cuLaunchKernel"}) {
      int failures = 0;
      for (std::uint64_t after = 0; after < 30; after += by_tier<std::uint64_t>(1 + after / 6, 1 + after / 6, 5)) {
        const FakeDevice device(Pace::when_asked, after);
        // The copy thread tries again what fails there, and no call of next() fails: only without it must one.
        CudaLoader loader(pack.path, options, {.depth = 2, .hold = 2, .copy_thread = after % 2 == 1});
        Trainer trainer(Context::open(0));
        fake_cuda::fail_once(function, after, k_out_of_memory);
        for (int epoch = 0; epoch < 2;) {
          const auto error = thrown_by([&] {
            const auto batch = loader.next(trainer.stream());
            if (batch) trainer.step(*batch);
            if (!batch) ++epoch;
          });
          if (!error) continue;
          REQUIRE_THAT(error->what(), ContainsSubstring("out of memory"));
          ++failures;
        }
        REQUIRE(trainer.finish() == expected);
      }
      if (converts) CHECK(failures > 0);
    }
  }
}

TEST_CASE("A device without room is reported at once, and nothing is left on it") {
  const Pack pack(20);
  for (const char* const function : {"cuDevicePrimaryCtxRetain", "cuMemAlloc_v2", "cuStreamCreate", "cuModuleLoadData",
                                     "cuModuleGetFunction", "cuMemcpyHtoDAsync_v2"}) {
    for (std::uint64_t after = 0; after < 6; ++after) {
      const FakeDevice device;
      fake_cuda::fail_once(function, after, k_out_of_memory);
      const std::string message = message_of([&] { CudaLoader(pack.path, converted_batches(1), {}); });
      if (after == 0) CHECK(message.find("out of memory") != std::string::npos);
      if (message.empty()) continue;
      CHECK(message.find("CUDA: cannot ") == 0);
      CHECK(message.find("reduce batch_size, depth or hold") != std::string::npos);
    }
  }
  const FakeDevice device;
  fake_cuda::fail_once("cuMemAlloc_v2", 0, k_out_of_memory);
  CHECK(message_of([&] { CudaLoader(pack.path, small_batches(1), {}); }) ==
        "CUDA: cannot take 122880 bytes on the device: out of memory (CUDA_ERROR_OUT_OF_MEMORY); reduce batch_size, "
        "depth or hold, or free memory on the device");
}

TEST_CASE("A device that stops working ends the stream with its error, and hangs nothing") {
  const Pack pack(60);
  for (std::uint64_t steps = 0; steps < 6; ++steps) {
    fake_cuda::reset(steps);
    {
      CudaLoader loader(pack.path, converted_batches(2), {});
      const auto context = Context::open(0);
      const cuda_detail::Stream stream(context);
      std::optional<DeviceBatch> kept;
      for (std::uint64_t i = 0; i < steps; ++i) kept = loader.next(stream.handle());
      fake_cuda::break_device(k_illegal_address);
      for (int i = 0; i < 3; ++i) {
        CHECK(message_of([&] { (void)loader.next(stream.handle()); }).find("CUDA_ERROR_OF_A_TEST") !=
              std::string::npos);
      }
    }
    fake_cuda::reset();
  }
}

TEST_CASE("A caller that throws out of its loop, or out of next(), finds the loader where it was") {
  const Pack pack(60);
  const LoaderOptions options = converted_batches(1);
  Loader host(pack.path, options);
  const FakeDevice device;
  CudaLoader loader(pack.path, options, {});
  Trainer trainer(Context::open(0));
  struct Interrupt {};
  int interrupts = 0;
  for (int epoch = 0; epoch < 3;) {
    try {
      const auto batch = loader.next(trainer.stream(), [&] {
        if (++interrupts % 2 == 0) throw Interrupt();
      });
      if (!batch) {
        ++epoch;
        continue;
      }
      trainer.step(*batch);
      throw Interrupt();
    } catch (const Interrupt&) {
    }
  }
  CHECK(trainer.finish() == snapshots(host, 3));
}

TEST_CASE("Bad samples are reported when their batch is delivered, not when it is copied") {
  const Pack pack(40, {3, 17, 30});
  for (const OnBadSample policy : {OnBadSample::skip, OnBadSample::substitute, OnBadSample::fail}) {
    LoaderOptions options = converted_batches(2);
    options.on_bad_sample = policy;
    Loader host(pack.path, options);
    const FakeDevice device;
    CudaLoader loader(pack.path, options, {.depth = 4});
    Trainer trainer(Context::open(0));
    std::vector<Snapshot> expected;
    bool failed = false;
    for (int i = 0; i < 12 && !failed; ++i) {
      std::optional<Batch> batch;
      const std::string message = message_of([&] { batch = host.next(); });
      std::optional<DeviceBatch> on_its_way;
      CHECK(message_of([&] { on_its_way = loader.next(trainer.stream()); }) == message);
      CHECK(loader.bad_samples().size() == host.bad_samples().size());
      failed = !message.empty();
      REQUIRE(on_its_way.has_value() == batch.has_value());
      if (batch) expected.push_back(snapshot(*batch));
      if (on_its_way) trainer.step(*on_its_way);
    }
    CHECK(trainer.finish() == expected);
    CHECK(failed == (policy == OnBadSample::fail));
  }
}

TEST_CASE("What makes no sense on a device is refused") {
  const Pack pack(10);
  const FakeDevice device;
  const auto refusal = [&](const Transform& transform, const CudaOptions& cuda) {
    LoaderOptions options = small_batches(1);
    options.transform = transform;
    return message_of([&] { CudaLoader(pack.path, options, cuda); });
  };
  CHECK(refusal(ragged_transform(), {}) ==
        "images of this transform differ in size, and a device takes whole batches only; use train, val or padded, or "
        "load into ordinary memory");
  CHECK(refusal(raw_transform(), {}).find("differ in size") != std::string::npos);
  CHECK(refusal(train_transform(), {.device = 1}) ==
        "no CUDA device 1: there are 1; they are counted from 0; look at nvidia-smi and CUDA_VISIBLE_DEVICES");
  CHECK(refusal(train_transform(), {.device = -1}).find("no CUDA device -1") == 0);
  CHECK(refusal(train_transform(), {.depth = 0}).find("depth of 0 batches") == 0);
  CHECK(refusal(train_transform(), {.hold = 0}).find("hold of 0 batches") == 0);
  CHECK(refusal(train_transform(), {.hold = 100000}).find("hold of 100000") == 0);
  CHECK(refusal(train_transform(), {.flip_probability = 2}).find("flip_probability 2") == 0);
  CHECK(refusal(train_transform(), {.decode = static_cast<DecodeOn>(2)}) == "decode is none of DecodeOn");
  CHECK(refusal(val_transform(), {.flip_probability = 0.5}).find("need a float dtype") != std::string::npos);
  CHECK(refusal(float_transform(DType::float16, PixelLayout::nchw), {.flip_probability = 0.5})
            .find("mirrored by the workers already") != std::string::npos);
  CHECK(refusal(float_transform(DType::float16, PixelLayout::nchw), {.mix = {.mixup_alpha = -1}}).find("mix: ") == 0);
  CHECK(refusal(train_transform(), {.mix = {.mixup_alpha = 1}}).find("need a float dtype") != std::string::npos);
  CHECK(fake_cuda::num_calls("cuMemAlloc_v2") == 0);
}

TEST_CASE("While the driver is called, the thread takes no part in the capture of a graph") {
  const Pack pack(20);
  const FakeDevice device;
  constexpr int k_relaxed = 2;
  int checked = 0;
  fake_cuda::on_call([&](const char* function) {
    for (const char* const restricted : {"cuEventQuery", "cuMemAlloc_v2", "cuMemHostAlloc", "cuMemHostRegister_v2"}) {
      if (std::string(function) != restricted) continue;
      ++checked;
      CHECK(fake_cuda::capture_mode() == k_relaxed);
      CHECK(fake_cuda::num_current() > 0);
    }
  });
  CudaLoader loader(pack.path, converted_batches(1), {});
  Trainer trainer(Context::open(0));
  train_epoch(loader, trainer);
  fake_cuda::on_call({});
  CHECK(checked > 5);
}
