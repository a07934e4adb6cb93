// Copies start, and slots return to the workers, while the caller is busy with a batch.
#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "bale/loader/cuda/buffers/copy_thread.hpp"
#include "bale/tests/unit/cuda/cuda_support.hpp"

using namespace bale;
using namespace bale::test;
using cuda_detail::Context;
using cuda_detail::CopyThread;
using fake_cuda::Pace;

namespace {

constexpr auto k_long = std::chrono::seconds(120);  // only a failure lasts as long

template <typename Done>
bool becomes_true(const Done& done) {
  const auto begin = std::chrono::steady_clock::now();
  while (!done()) {
    if (std::chrono::steady_clock::now() - begin > k_long) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

std::uint64_t num_copies() { return fake_cuda::num_calls("cuMemcpyHtoDAsync_v2") / 2; }  // tables and pixels

}  // namespace

TEST_CASE("All copies up to depth start without a further call of next(), through a ring with fewer slots") {
  const Pack pack(200);
  for (const WorkerMode mode : {WorkerMode::threads, WorkerMode::processes}) {
    LoaderOptions options = small_batches(2, mode);
    options.prefetch = 3;
    const FakeDevice device(Pace::thread);
    CudaLoader loader(pack.path, options, {.depth = 20});
    Trainer trainer(Context::open(0));
    const auto first = loader.next(trainer.stream());
    REQUIRE(first);
    CHECK(becomes_true([] { return num_copies() == 21; }));
    CHECK(num_copies() == 21);
  }
}

TEST_CASE("Without the thread, only next() starts copies") {
  const Pack pack(200);
  const FakeDevice device(Pace::thread);
  CudaLoader loader(pack.path, small_batches(2, WorkerMode::threads), {.depth = 20, .copy_thread = false});
  Trainer trainer(Context::open(0));
  const auto first = loader.next(trainer.stream());
  const std::uint64_t at_first = num_copies();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(num_copies() == at_first);
}

TEST_CASE("The next epoch is copied ahead only if it may be started") {
  const Pack pack(40);
  for (const bool prefetch_next_epoch : {true, false}) {
    LoaderOptions options = small_batches(2, WorkerMode::threads);
    options.prefetch_next_epoch = prefetch_next_epoch;
    const FakeDevice device(Pace::thread);
    CudaLoader loader(pack.path, options, {.depth = 3});
    Trainer trainer(Context::open(0));
    for (int i = 0; i < 5; ++i) REQUIRE(loader.next(trainer.stream()));
    if (prefetch_next_epoch) {
      CHECK(becomes_true([] { return num_copies() == 7; }));  // the end of the epoch is one of the three
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      CHECK(num_copies() == 5);
    }
    CHECK(loader.state().epoch == 0);
    CHECK_FALSE(loader.next(trainer.stream()));
    CHECK(loader.state().epoch == 1);
  }
}

TEST_CASE("The thread changes no batch, whatever the pace, and ends with its loader") {
  const Pack pack(60);
  LoaderOptions options = small_batches(2);
  options.transform = float_transform(DType::float16, PixelLayout::nchw, 16);
  Loader host(pack.path, options);
  const auto expected = snapshots(host, 2);
  for (const Pace pace : {Pace::when_asked, Pace::thread, Pace::late}) {
    for (int round = 0; round < 8; ++round) {
      const FakeDevice device(pace, round);
      CudaLoader loader(pack.path, options, {.depth = 3, .timing = true});
      Trainer trainer(Context::open(0));
      if (round % 2 == 1) {  // destroyed at any moment
        for (int i = 0; i < round; ++i) {
          if (const auto batch = loader.next(trainer.stream())) trainer.step(*batch);
        }
        continue;
      }
      for (int epoch = 0; epoch < 2; ++epoch) train_epoch(loader, trainer);
      CHECK(trainer.finish() == expected);
    }
  }
}

TEST_CASE("States loaded while the thread is copying continue at their place") {
  const Pack pack(60);
  const LoaderOptions options = small_batches(2, WorkerMode::threads);
  Loader host(pack.path, options);
  const auto expected = snapshots(host);
  const FakeDevice device(Pace::thread);
  CudaLoader loader(pack.path, options, {.depth = 4});
  Trainer trainer(Context::open(0));
  const LoaderState start = loader.state();
  for (int i = 0; i < 30; ++i) {
    loader.load_state(start);
    for (int batch = 0; batch < i % 5; ++batch) (void)loader.next(trainer.stream());
    if (i % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  loader.load_state(start);
  train_epoch(loader, trainer);
  CHECK(trainer.finish() == expected);
}

TEST_CASE("While next() waits, a signal handler may ask for counters and workers") {
  const Pack pack(40);
  const FakeDevice device;
  CudaLoader loader(pack.path, small_batches(1), {});
  Trainer trainer(Context::open(0));
  loader.start();
  const int worker = loader.worker_pids().front();
  REQUIRE(::kill(worker, SIGSTOP) == 0);
  int asked = 0;
  const auto ask = [&] {
    (void)loader.counters();
    (void)loader.bad_samples();
    (void)loader.state();
    CHECK(loader.worker_pids().size() == 1);
    if (++asked == 3) ::kill(worker, SIGCONT);  // until then, the loop waits
  };
  while (const auto batch = loader.next(trainer.stream(), ask)) {
  }
  CHECK(asked >= 3);
}

TEST_CASE("CopyThread sleeps as its step says, and wake() is not lost") {
  std::atomic<int> steps{0};
  std::atomic<int> waits{0};
  CopyThread thread([&] { return ++steps % 2 == 0 ? CopyThread::until_completion(7, 5) : CopyThread::until_next(); },
                    [&](std::uint32_t seen, int timeout_ms) { waits += seen == 7 && timeout_ms == 5 ? 1 : 1000; },
                    [] {});
  for (int i = 1; i < 100; ++i) {
    REQUIRE(becomes_true([&] { return steps == 2 * i - 1; }));
    thread.wake();
    REQUIRE(becomes_true([&] { return steps == 2 * i + 1; }));
    REQUIRE(waits == i);
  }
}
