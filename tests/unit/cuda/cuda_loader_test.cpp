// Batches on a device are the host's, whenever the device gets its work done.
#include <chrono>
#include <deque>
#include <thread>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/loader/cuda/kernels/converter.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/tier.hpp"
#include "bale/tests/unit/cuda/cuda_support.hpp"

using namespace bale;
using namespace bale::test;
using cuda_detail::Context;
using fake_cuda::Pace;

TEST_CASE("The device's pace, the workers and the sizes of rings change nothing") {
  const Pack pack(50);
  LoaderOptions options = small_batches(0);
  options.transform = float_transform(DType::float16, PixelLayout::nchw);
  options.tail = Tail::uneven;  // with empty rows
  options.world_size = 3;
  options.rank = 2;
  Loader host(pack.path, options);
  const auto expected = snapshots(host, 3);
  const auto check = [&](const LoaderOptions& changed, const CudaOptions& cuda) {
    for (const Pace pace : {Pace::when_asked, Pace::thread, Pace::late}) {
      const FakeDevice device(pace);
      CudaLoader loader(pack.path, changed, cuda);
      CHECK(on_device(loader, 3) == expected);
    }
  };
  check(options, {});
  options.workers = 2;
  check(options, {.depth = 1, .hold = 1});
  check(options, {.depth = 5, .hold = 2, .timing = true});
  options.worker_mode = WorkerMode::threads;
  options.prefetch = 2;
  check(options, {});
  options.prefetch_next_epoch = false;
  check(options, {.depth = 4});
  options.persistent_workers = false;
  check(options, {.depth = 4});
  options.transform.dtype = DType::uint8;
  options.transform.normalize = false;
  Loader bytes(pack.path, options);
  const FakeDevice device(Pace::thread);
  CudaLoader loader(pack.path, options, {});
  CHECK(on_device(loader, 3) == snapshots(bytes, 3));
}

TEST_CASE("Sources of a mixture have transforms of their own on a device, too, if it converts them alike") {
  const Pack pack(30);
  const Selection mixture = Selection::mixture({21, 9}, {1, 1}, {.epoch_samples = 40, .exact_every = 8});
  LoaderOptions options = small_batches(2, WorkerMode::threads);
  Transform train = float_transform(DType::float16, PixelLayout::nchw);
  Transform val = val_transform(train.width, train.width + 4);
  val.dtype = train.dtype;
  val.layout = train.layout;
  val.normalize = train.normalize;
  options.source_transforms = {train, val};
  const FakeDevice device(Pace::thread);
  {
    Loader host(pack.path, options, mixture);
    CudaLoader loader(pack.path, options, {}, mixture);
    CHECK(on_device(loader, 3) == snapshots(host, 3));
  }
  const auto is_refused = [&](const CudaOptions& cuda) {
    return test::throws(ErrorCode::invalid_argument, [&] { CudaLoader(pack.path, options, cuda, mixture); });
  };
  CHECK(is_refused({.decode = DecodeOn::device}));
  options.source_transforms[1].mean[0] += 0.25F;
  CHECK(is_refused({}));
  Loader host(pack.path, options, mixture);
  CudaLoader loader(pack.path, options, {.convert = false}, mixture);  // the workers do
  CHECK(on_device(loader, 1) == snapshots(host, 1));
}

TEST_CASE("The ring is page-locked once, when the workers are there, and released before it goes") {
  const Pack pack(40);
  const FakeDevice device;
  LoaderOptions options = small_batches(2);
  options.persistent_workers = false;  // and so they are started again with each epoch
  CudaLoader loader(pack.path, options, {});
  std::size_t workers_at_registration = 0;
  fake_cuda::on_call([&](const char* function) {
    if (std::string(function) == "cuMemHostRegister_v2") workers_at_registration = loader.worker_pids().size();
  });
  CHECK(fake_cuda::live().registrations == 0);
  on_device(loader, 4);
  fake_cuda::on_call({});
  CHECK(workers_at_registration == 2);
  CHECK(fake_cuda::num_calls("cuMemHostRegister_v2") == 1);
  CHECK(fake_cuda::live().registrations == 1);
}

TEST_CASE("Copies run ahead of the batch that was asked for, and slots go back as soon as they are copied") {
  const Pack pack(80);
  const FakeDevice device(Pace::never);
  LoaderOptions options = small_batches(2, WorkerMode::threads);
  options.prefetch = 6;
  CudaLoader loader(pack.path, options, {.depth = 3});
  Trainer trainer(Context::open(0));
  const auto copies = [] { return fake_cuda::num_calls("cuMemcpyHtoDAsync_v2") / 2; };
  for (std::uint64_t batch = 1; batch <= 3; ++batch) {
    trainer.step(*loader.next(trainer.stream()));
    CHECK(copies() >= batch);
    CHECK(copies() <= batch + 3);
  }
  // Nothing is ever copied by this device, so that all six slots are soon taken and next() can but wait.
  struct Tired {};
  int asked = 0;
  const auto lose_patience = [&] {
    if (copies() == 6 && ++asked == 2) throw Tired();
  };
  CHECK_THROWS_AS(([&] {
                    for (;;) trainer.step(*loader.next(trainer.stream(), lose_patience));
                  }()),
                  Tired);
  CHECK(copies() == 6);
  fake_cuda::set_pace(Pace::when_asked);
  train_epoch(loader, trainer);
  CHECK(trainer.finish().size() == 10);
  CHECK(loader.counters().batches == 10);
  CHECK(loader.counters().samples == 80);
}

TEST_CASE("State, epoch and size are of what was delivered, not of what is copied ahead") {
  const Pack pack(60);
  const LoaderOptions options = small_batches(2, WorkerMode::threads);
  const FakeDevice device(Pace::thread);
  Loader host(pack.path, options);
  CudaLoader loader(pack.path, options, {.depth = 4});
  Trainer trainer(Context::open(0));
  std::vector<Snapshot> expected;
  std::vector<LoaderState> states;
  for (int i = 0; i < 30; ++i) {
    REQUIRE(loader.state() == host.state());
    REQUIRE(loader.epoch() == host.epoch());
    REQUIRE(loader.size() == host.size());
    states.push_back(host.state());
    const auto batch = host.next();
    const auto on_its_way = loader.next(trainer.stream());
    REQUIRE(batch.has_value() == on_its_way.has_value());
    if (!batch) continue;
    expected.push_back(snapshot(*batch));
    trainer.step(*on_its_way);
  }
  CHECK(trainer.finish() == expected);
  // To every place, from wherever it is; some of them are where the loader beneath is already.
  KeyedRandom random{9};
  for (int i = 0; i < 60; ++i) {
    const LoaderState& to = states[random.below(states.size())];
    if (i % 3 == 0) {
      host.set_epoch(to.epoch);
      loader.set_epoch(to.epoch);
    } else {
      host.load_state(to);
      loader.load_state(to);
    }
    expected.clear();
    for (std::uint64_t left = random.below(12); left > 0; --left) {
      REQUIRE(loader.state() == host.state());
      const auto batch = host.next();
      const auto on_its_way = loader.next(trainer.stream());
      REQUIRE(batch.has_value() == on_its_way.has_value());
      if (batch) expected.push_back(snapshot(*batch));
      if (batch) trainer.step(*on_its_way);
    }
    REQUIRE(trainer.finish() == expected);
  }
  LoaderState foreign = states[3];
  foreign.fingerprint ^= 1;
  CHECK_THROWS_AS(loader.load_state(foreign), Error);
}

TEST_CASE("A resumed epoch has the size and the numbers of one, also where the loader beneath was there already") {
  const Pack pack(64);
  const LoaderOptions options = small_batches(2, WorkerMode::threads);
  Loader before(pack.path, options);
  for (int i = 0; i < 3; ++i) (void)before.next();
  const LoaderState state = before.state();
  for (const int delivered : {0, 1, 2, 3, 4}) {
    const FakeDevice device;
    CudaLoader loader(pack.path, options, {.depth = 2});
    Trainer trainer(Context::open(0));
    for (int i = 0; i < delivered; ++i) trainer.step(*loader.next(trainer.stream()));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    trainer.finish();
    loader.load_state(state);
    if (delivered != 3) CHECK(loader.size() == 5);  // where it is there already nothing changes, as in Loader
    train_epoch(loader, trainer);
    const auto got = trainer.finish();
    REQUIRE(got.size() == 5);
    if (delivered != 3) CHECK(got.front().index == 0);
  }
}

TEST_CASE("Hundreds of epochs, with jumps, batches that are kept, and a device that is early or late") {
  const Pack pack(24);
  LoaderOptions options = small_batches(2, WorkerMode::threads);
  options.batch_size = 5;
  options.transform = float_transform(DType::bfloat16, PixelLayout::nhwc, 12);
  const auto epochs = by_tier<std::uint64_t>(300, 300, 60);
  std::vector<std::vector<Snapshot>> expected;
  {
    LoaderOptions plain = options;
    plain.workers = 0;
    Loader host(pack.path, plain);
    for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) expected.push_back(snapshots(host));
  }
  for (const Pace pace : {Pace::when_asked, Pace::thread}) {
    const FakeDevice device(pace, 77);
    options.worker_mode = pace == Pace::thread ? WorkerMode::threads : WorkerMode::processes;
    CudaLoader loader(pack.path, options, {.depth = 3, .hold = 3});
    Trainer trainer(Context::open(0));
    KeyedRandom random{5, static_cast<std::uint64_t>(pace)};
    std::deque<DeviceBatch> kept;
    for (std::uint64_t epoch = 0; epoch < epochs;) {
      std::size_t count = 0;
      bool broken_off = false;
      for (;;) {
        while (kept.size() > random.below(3)) kept.pop_front();
        auto batch = loader.next(trainer.stream());
        if (!batch) break;
        trainer.step(*batch);
        kept.push_back(*std::move(batch));
        ++count;
        if (random.below(40) == 0) {
          broken_off = true;
          break;
        }
      }
      auto wanted = expected[epoch];
      wanted.resize(std::min(wanted.size(), count));
      REQUIRE(trainer.finish() == wanted);
      ++epoch;
      if (broken_off) {
        epoch = std::min(epoch + random.below(3), epochs - 1);
        loader.set_epoch(epoch);
      }
    }
  }
}

TEST_CASE("A loader may end at any moment, and its batches after it, in any order") {
  const Pack pack(40);
  KeyedRandom random{3};
  for (int round = 0; round < 120; ++round) {
    const FakeDevice device(round % 3 == 0   ? Pace::thread
                            : round % 3 == 1 ? Pace::late
                                             : Pace::when_asked,
                            static_cast<std::uint64_t>(round));
    const auto context = Context::open(0);
    Trainer trainer(context);
    std::vector<DeviceBatch> kept;
    {
      LoaderOptions options = small_batches(round % 20 == 0 ? 2 : 1 + round % 2,
                                            round % 20 == 0 ? WorkerMode::processes : WorkerMode::threads);
      if (round % 2 == 0) options.transform = float_transform(DType::float32, PixelLayout::nchw, 16);
      CudaLoader loader(pack.path, options, {.depth = 1 + static_cast<std::uint32_t>(random.below(4))});
      for (std::uint64_t steps = random.below(7); steps > 0; --steps) {
        auto batch = loader.next(trainer.stream());
        if (!batch) continue;
        if (random.below(2) == 0) trainer.step(*batch);
        if (kept.size() < 2 && random.below(2) == 0) kept.push_back(*std::move(batch));
      }
      CudaLoader elsewhere = std::move(loader);
    }
    for (const DeviceBatch& batch : kept) trainer.step(batch);
    while (!kept.empty()) {
      std::swap(kept[random.below(kept.size())], kept.back());
      kept.pop_back();
    }
  }
}

TEST_CASE("Another stream may use a batch too, and is waited for") {
  const Pack pack(40);
  LoaderOptions options = small_batches(2, WorkerMode::threads);
  for (const DType dtype : {DType::uint8, DType::float16}) {
    options.transform.dtype = dtype;
    Loader host(pack.path, options);
    const FakeDevice device(Pace::thread);
    CudaLoader loader(pack.path, options, {.depth = 1, .hold = 1});
    const auto context = Context::open(0);
    Trainer trainer(context);
    Trainer other(context);
    for (int epoch = 0; epoch < 3; ++epoch) {
      while (auto batch = loader.next(trainer.stream())) {
        batch->use_on(other.stream());
        batch->use_on(other.stream());
        batch->use_on(trainer.stream());
        other.step(*batch);
      }
    }
    CHECK(other.finish() == snapshots(host, 3));
  }
}

TEST_CASE("Batches may be asked for in another stream each time, and the default stream has two names") {
  const Pack pack(40);
  const LoaderOptions options = small_batches(2, WorkerMode::threads);
  Loader host(pack.path, options);
  const FakeDevice device(Pace::thread);
  CudaLoader loader(pack.path, options, {.depth = 2, .hold = 2});
  const auto context = Context::open(0);
  Trainer first(context);
  Trainer second(context);
  std::vector<Snapshot> got;
  for (int i = 0; i < 10; ++i) {
    Trainer& trainer = i % 2 == 0 ? first : second;
    const auto batch = loader.next(trainer.stream());
    if (!batch) continue;
    trainer.step(*batch);
  }
  CHECK(first.finish().size() + second.finish().size() == 9);
  auto batch = loader.next(nullptr);
  CHECK(batch->stream() == reinterpret_cast<CudaStream>(1));
  const auto calls = fake_cuda::num_calls("cuEventRecord");
  batch->use_on(nullptr);
  batch->use_on(reinterpret_cast<CudaStream>(1));
  CHECK(fake_cuda::num_calls("cuEventRecord") == calls);
}

TEST_CASE("Batches let go of by other threads while the next ones are asked for") {
  const Pack pack(60);
  LoaderOptions options = small_batches(2, WorkerMode::threads);
  options.transform = float_transform(DType::float16, PixelLayout::nchw, 16);
  Loader host(pack.path, options);
  const FakeDevice device(Pace::thread);
  CudaLoader loader(pack.path, options, {.depth = 2, .hold = 8});
  Trainer trainer(Context::open(0));
  std::vector<std::thread> threads;
  for (int epoch = 0; epoch < 4; ++epoch) {
    while (auto batch = loader.next(trainer.stream())) {
      trainer.step(*batch);
      if (threads.size() == 4) {
        for (std::thread& thread : threads) thread.join();
        threads.clear();
      }
      threads.emplace_back([mine = std::make_unique<DeviceBatch>(*std::move(batch))]() mutable { mine.reset(); });
    }
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(trainer.finish() == snapshots(host, 4));
}

TEST_CASE("A loop has the batches of an epoch, and a stop ends the wait of next() without losing one") {
  const Pack pack(80);
  LoaderOptions options = small_batches(2, WorkerMode::threads);
  Loader host(pack.path, options);
  const FakeDevice device(Pace::never);
  CudaLoader loader(pack.path, options, {.depth = 3});
  Trainer trainer(Context::open(0));
  const auto train = [&] {
    for (DeviceBatch& batch : loader.on(trainer.stream())) trainer.step(batch);
  };
  std::thread other([&] {  // this device copies nothing, so all slots are soon taken
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    loader.request_stop();
  });
  CHECK(error_of(train).code() == ErrorCode::interrupted);
  other.join();
  fake_cuda::set_pace(Pace::thread);
  loader.request_stop();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the loader's own thread takes batches
  CHECK(error_of(train).code() == ErrorCode::interrupted);
  train();
  CHECK(trainer.finish() == snapshots(host, 1));
  std::size_t rows = 0;
  for (const DeviceBatch& batch : loader) rows += batch.size();
  CHECK(rows == 80);
}

TEST_CASE("Copies and waiting are counted, and timed if that is asked for") {
  const Pack pack(40);
  const FakeDevice device;
  LoaderOptions options = small_batches(2, WorkerMode::threads);
  options.transform = float_transform(DType::float16, PixelLayout::nhwc);
  CudaLoader loader(pack.path, options, {.timing = true});
  on_device(loader, 2);
  const CudaCounters counters = loader.counters();
  CHECK(counters.batches == 10);
  CHECK(counters.samples == 80);
  // 8 bits a value; of the last copies, at most one a slot, it may not be known that they are done.
  CHECK(counters.copied_bytes >= (80 - 8 * std::uint64_t{loader.options().prefetch}) * 32 * 32 * 3);
  CHECK(counters.copied_bytes < 100 * 32 * 32 * 3 + 20 * 8 * 100);
  CHECK(counters.copy_seconds > 0);
  CHECK(counters.stall_seconds > 0);
}
