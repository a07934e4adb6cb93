// Loaders on a device: several at once, their ends, resuming, workers that die, copies without next(), memory that is
// left.
#include <chrono>
#include <csignal>
#include <thread>

#include "bale/formats/base/random.hpp"
#include "bale/tests/gpu/gpu_support.hpp"

using namespace bale;
using namespace bale::test;

namespace {

constexpr auto k_long = std::chrono::seconds(60);  // only a failure lasts as long

/// Free memory of the device, in bytes.
std::size_t free_memory(const Device& device) {
  using GetInfo = cuda_detail::Result(std::size_t*, std::size_t*);
  auto* const get_info = reinterpret_cast<GetInfo*>(driver_function("cuMemGetInfo_v2"));
  REQUIRE(get_info != nullptr);
  const cuda_detail::Current current(*device.context());
  std::size_t free = 0;
  std::size_t total = 0;
  REQUIRE(get_info(&free, &total) == cuda_detail::Result::success);
  return free;
}

}  // namespace

TEST_CASE("Several loaders on one device take turns") {
  const Pack pack(60);
  const Device device;
  LoaderOptions other = small_batches(1, WorkerMode::processes);
  other.seed = 6;
  const std::vector<LoaderOptions> options = {float_batches(DType::float16, PixelLayout::nchw, 16),
                                              float_batches(DType::float32, PixelLayout::nhwc, 13), other};
  std::vector<CudaLoader> loaders;
  std::vector<std::unique_ptr<Trainer>> trainers;
  for (const LoaderOptions& one : options) {
    loaders.emplace_back(pack.path, one, CudaOptions{.depth = 1, .hold = 1});
    trainers.push_back(std::make_unique<Trainer>(device.context()));
  }
  for (bool any = true; any;) {
    any = false;
    for (std::size_t i = 0; i < loaders.size(); ++i) {
      if (loaders[i].epoch() == 2) continue;
      any = true;
      if (const auto batch = loaders[i].next(trainers[i]->stream())) trainers[i]->step(*batch);
    }
  }
  for (std::size_t i = 0; i < loaders.size(); ++i) CHECK(trainers[i]->finish() == on_host(pack.path, options[i], 2));
}

TEST_CASE("Loaders of several threads use one device") {
  const Pack pack(60);
  const LoaderOptions options = float_batches(DType::bfloat16, PixelLayout::nchw, 20);
  const auto expected = on_host(pack.path, options, 3);
  const Device device;
  std::vector<std::vector<Snapshot>> got(4);
  std::vector<std::thread> threads;
  for (auto& mine : got) {
    threads.emplace_back([&] {
      CudaLoader loader(pack.path, options, {});
      mine = on_device(loader, 3);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : got) CHECK(mine == expected);
}

TEST_CASE("A loader may end at any moment, and its batches after it, in any order") {
  const Pack pack(40);
  KeyedRandom random{3};
  const Device device;
  for (int round = 0; round < 30; ++round) {
    LoaderOptions options =
        round % 2 == 0 ? float_batches(DType::float32, PixelLayout::nchw, 16) : small_batches(2, WorkerMode::threads);
    const auto expected = on_host(pack.path, options);
    SlowTrainer trainer(device.context());
    std::vector<DeviceBatch> kept;
    {
      CudaLoader loader(pack.path, options, {.depth = 1 + static_cast<std::uint32_t>(random.below(4))});
      for (std::uint64_t steps = random.below(5); steps > 0; --steps) kept.push_back(*loader.next(trainer.stream()));
    }
    const std::size_t count = kept.size();
    for (const DeviceBatch& batch : kept) trainer.step(batch);
    while (!kept.empty()) {
      std::swap(kept[random.below(kept.size())], kept.back());
      kept.pop_back();
    }
    CHECK(trainer.finish() ==
          std::vector<Snapshot>(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(count)));
  }
}

TEST_CASE("All batches of an epoch may be kept") {
  const Pack pack(100);
  const LoaderOptions options = float_batches(DType::float16, PixelLayout::nhwc);
  const Device device;
  CudaLoader loader(pack.path, options, {.depth = 2, .hold = 2});
  Trainer trainer(device.context());
  std::vector<DeviceBatch> kept;
  while (auto batch = loader.next(trainer.stream())) kept.push_back(*std::move(batch));
  CHECK(loader.counters().batches_beyond_hold == kept.size() - 2);
  for (const DeviceBatch& batch : kept) trainer.step(batch);
  kept.clear();
  train_epoch(loader, trainer);
  CHECK(trainer.finish() == on_host(pack.path, options, 2));
}

TEST_CASE("A loader that is resumed, or moved to another epoch, continues there") {
  const Pack pack(90);
  LoaderOptions options = float_batches(DType::float16, PixelLayout::nchw, 20);
  const auto expected = on_host(pack.path, options);
  const Device device;
  Trainer trainer(device.context());
  CudaLoader first(pack.path, options, {.depth = 4});
  for (int i = 0; i < 5; ++i) REQUIRE(first.next(trainer.stream()));
  const LoaderState state = first.state();
  options.workers = 1;
  CudaLoader second(pack.path, options, {});
  second.load_state(state);
  train_epoch(second, trainer);
  const auto rest = trainer.finish();
  REQUIRE(rest.size() + 5 == expected.size());
  for (std::size_t i = 0; i < rest.size(); ++i) CHECK(rest[i].images == expected[i + 5].images);
  second.set_epoch(0);
  train_epoch(second, trainer);
  CHECK(trainer.finish() == expected);
}

TEST_CASE("Workers that are killed change no batch") {
  const Pack pack(100);
  LoaderOptions options = float_batches(DType::float16, PixelLayout::nchw, 16);
  options.worker_mode = WorkerMode::processes;
  options.workers = 3;
  const auto expected = on_host(pack.path, options, 2);
  const Device device;
  CudaLoader loader(pack.path, options, {});
  Trainer trainer(device.context());
  std::size_t kills = 0;
  for (int epoch = 0; epoch < 2; ++epoch) {
    while (const auto batch = loader.next(trainer.stream())) {
      trainer.step(*batch);
      const auto pids = loader.worker_pids();
      if (!pids.empty() && ::kill(pids[batch->index() % pids.size()], SIGKILL) == 0) ++kills;
    }
  }
  CHECK(kills > 0);
  CHECK(trainer.finish() == expected);
}

TEST_CASE("Copies up to depth are started and done without a further call of next()") {
  const Pack pack(200);
  LoaderOptions options = float_batches(DType::float16, PixelLayout::nchw);
  options.prefetch = 3;  // fewer slots than batches are copied ahead
  const Device device;
  CudaLoader loader(pack.path, options, {.depth = 12});
  Trainer trainer(device.context());
  REQUIRE(loader.next(trainer.stream()));
  const std::uint64_t wanted = 13 * std::uint64_t{options.batch_size} * 32 * 32 * 3;
  const auto begin = std::chrono::steady_clock::now();
  while (loader.counters().copied_bytes < wanted && std::chrono::steady_clock::now() - begin < k_long) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(loader.counters().copied_bytes >= wanted);
}

TEST_CASE("Loaders that have ended leave no memory on the device") {
  const Pack pack(40);
  LoaderOptions options = float_batches(DType::float32, PixelLayout::nchw, 224);
  const Device device;
  const std::size_t batch_bytes = options.transform.image_bytes() * options.batch_size;
  std::size_t free_at_first = 0;
  for (int round = 0; round < 8; ++round) {
    (void)CudaLoader(pack.path, options, {.hold = 4}).next();
    if (round == 1) free_at_first = free_memory(device);
  }
  // Six loaders; the driver may round what one takes.
  CHECK(free_memory(device) + 6 * batch_bytes > free_at_first);
}
