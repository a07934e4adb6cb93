// Streams of the consumer: batches are there when work on them begins, and their memory is not reused before it ends.
#include <algorithm>
#include <thread>
#include <utility>

#include "bale/tests/gpu/gpu_support.hpp"

using namespace bale;
using namespace bale::test;
using cuda_detail::CaptureMode;
using cuda_detail::Result;
using cuda_detail::StreamHandle;

namespace {

const auto k_default_stream = reinterpret_cast<StreamHandle>(1);  // CU_STREAM_LEGACY

/// Small rings, so that memory is soon used again.
const CudaOptions k_one_of_each{.depth = 1, .hold = 1};

/// Captures a stream into a graph during its lifetime, in the mode that forbids most to all threads.
class Capture {
 public:
  Capture(const Device& device, const cuda_detail::Stream& stream) : device_(device), stream_(stream) {
    using Begin = Result(StreamHandle, CaptureMode);
    const cuda_detail::Current current(*device.context());
    REQUIRE(call<Begin>("cuStreamBeginCapture_v2", stream.handle(), CaptureMode::global) == Result::success);
  }
  ~Capture() {
    using End = Result(StreamHandle, void**);
    using Destroy = Result(void*);
    const cuda_detail::Current current(*device_.context());
    void* graph = nullptr;
    CHECK(call<End>("cuStreamEndCapture", stream_.handle(), &graph) == Result::success);
    if (graph != nullptr) call<Destroy>("cuGraphDestroy", graph);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

 private:
  template <typename Function, typename... Arguments>
  static Result call(const char* name, Arguments... arguments) {
    auto* const function = reinterpret_cast<Function*>(driver_function(name));
    return function == nullptr ? Result::not_initialized : function(arguments...);
  }

  const Device& device_;
  const cuda_detail::Stream& stream_;
};

}  // namespace

TEST_CASE("Memory is not reused while a consumer that is behind still reads it") {
  const Pack pack(60);
  for (const DType dtype : {DType::uint8, DType::float16}) {
    LoaderOptions options = small_batches(2, WorkerMode::threads);
    options.transform.dtype = dtype;
    options.prefetch = 2;
    const auto expected = on_host(pack.path, options, 3);
    const Device device;
    CudaLoader loader(pack.path, options, k_one_of_each);
    SlowTrainer trainer(device.context());
    for (int epoch = 0; epoch < 3; ++epoch) train_epoch(loader, trainer);
    CHECK(trainer.finish() == expected);
  }
}

TEST_CASE("Another stream may use a batch too, and its memory waits for both") {
  const Pack pack(60);
  for (const DType dtype : {DType::uint8, DType::float16}) {
    LoaderOptions options = small_batches(2, WorkerMode::threads);
    options.transform.dtype = dtype;
    const auto expected = on_host(pack.path, options, 2);
    const Device device;
    CudaLoader loader(pack.path, options, k_one_of_each);
    Trainer trainer(device.context());
    SlowTrainer other(device.context());
    for (int epoch = 0; epoch < 2; ++epoch) {
      while (auto batch = loader.next(trainer.stream())) {
        batch->use_on(other.stream());
        other.step(*batch);
        trainer.step(*batch);
      }
    }
    CHECK(other.finish() == expected);
    CHECK(trainer.finish() == expected);
  }
}

TEST_CASE("Each batch may be asked for in another stream") {
  const Pack pack(60);
  const LoaderOptions options = float_batches(DType::float16, PixelLayout::nchw, 16);
  const auto expected = on_host(pack.path, options);
  const Device device;
  CudaLoader loader(pack.path, options, k_one_of_each);
  SlowTrainer slow(device.context());
  Trainer quick(device.context());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto batch = loader.next(i % 2 == 0 ? slow.stream() : quick.stream());
    REQUIRE(batch);
    i % 2 == 0 ? slow.step(*batch) : quick.step(*batch);
  }
  std::vector<Snapshot> got = slow.finish();
  for (Snapshot& one : quick.finish()) got.push_back(std::move(one));
  std::sort(got.begin(), got.end(), [](const Snapshot& a, const Snapshot& b) { return a.index < b.index; });
  CHECK(got == expected);
}

TEST_CASE("Batches for the default stream") {
  const Pack pack(60);
  const LoaderOptions options = float_batches(DType::float32, PixelLayout::nhwc, 16);
  const Device device;
  CudaLoader loader(pack.path, options, k_one_of_each);
  Trainer trainer(device.context(), k_default_stream);
  while (const auto batch = loader.next(nullptr)) {
    CHECK(batch->stream() == trainer.stream());
    trainer.step(*batch);
  }
  CHECK(trainer.finish() == on_host(pack.path, options));
}

TEST_CASE("Threads that use their default streams each get their loader's batches") {
  const Pack pack(60);
  const LoaderOptions options = float_batches(DType::float16, PixelLayout::nchw, 16);
  const auto expected = on_host(pack.path, options, 2);
  const Device device;
  std::vector<std::vector<Snapshot>> got(3);
  std::vector<std::thread> threads;
  for (auto& mine : got) {
    threads.emplace_back([&] {
      CudaLoader loader(pack.path, options, k_one_of_each);
      Trainer trainer(device.context(), cuda_detail::k_stream_of_thread);
      for (int epoch = 0; epoch < 2; ++epoch) train_epoch(loader, trainer);
      mine = trainer.finish();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : got) CHECK(mine == expected);
}

TEST_CASE("A batch of a thread's default stream may be let go of by another thread") {
  const Pack pack(60);
  const LoaderOptions options = float_batches(DType::float16, PixelLayout::nchw, 16);
  const Device device;
  CudaLoader loader(pack.path, options, k_one_of_each);
  Trainer trainer(device.context(), cuda_detail::k_stream_of_thread);
  while (auto batch = loader.next(trainer.stream())) {
    trainer.step(*batch);
    std::thread([&] { batch.reset(); }).join();
  }
  CHECK(trainer.finish() == on_host(pack.path, options));
}

TEST_CASE("Other threads let go of batches while the next ones are asked for") {
  const Pack pack(60);
  const LoaderOptions options = float_batches(DType::float16, PixelLayout::nchw, 16);
  const Device device;
  CudaLoader loader(pack.path, options, {.depth = 2, .hold = 8});
  Trainer trainer(device.context());
  std::vector<std::thread> threads;
  for (int epoch = 0; epoch < 2; ++epoch) {
    while (auto batch = loader.next(trainer.stream())) {
      trainer.step(*batch);
      threads.emplace_back([mine = std::make_unique<DeviceBatch>(*std::move(batch))]() mutable { mine.reset(); });
    }
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(trainer.finish() == on_host(pack.path, options, 2));
}

TEST_CASE("A stream that is being captured gets no batch, and other streams get theirs in the meantime") {
  const Pack pack(60);
  const LoaderOptions options = float_batches(DType::float16, PixelLayout::nchw, 16);
  const auto expected = on_host(pack.path, options);
  const Device device;
  CudaLoader loader(pack.path, options, {.depth = 2, .hold = 2});
  loader.start();
  Trainer trainer(device.context());
  const cuda_detail::Stream graph(device.context());
  Trainer on_graph(device.context(), graph.handle());
  auto kept = loader.next(trainer.stream());
  auto of_graph = loader.next(graph.handle());
  REQUIRE((kept && of_graph));
  trainer.step(*kept);
  on_graph.step(*of_graph);
  {
    const Capture capture(device, graph);
    of_graph.reset();  // its memory is used again after the capture
    CHECK(message_of([&] {
            (void)loader.next(graph.handle());
          }).find("this stream is being captured into a CUDA graph") == 0);
    CHECK(message_of([&] { kept->use_on(graph.handle()); }).find("this stream is being captured") == 0);
    for (int i = 0; i < 3; ++i) trainer.step(*loader.next(trainer.stream()));
  }
  kept->use_on(graph.handle());
  kept.reset();
  train_epoch(loader, trainer);
  std::vector<Snapshot> got = trainer.finish();
  got.insert(got.begin() + 1, on_graph.finish().at(0));
  CHECK(got == expected);
}
