// What the tests of loader/cuda share. The driver is the fake one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/loader/cuda/context.hpp"
#include "bale/loader/cuda/cuda_loader.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/fake_cuda/fake_cuda.hpp"
#include "bale/tests/unit/loader_support.hpp"

namespace bale::test {

/// A new fake device for a test; at its end nothing may be left on it, and nothing may have gone wrong.
class FakeDevice {
 public:
  explicit FakeDevice(fake_cuda::Pace pace = fake_cuda::Pace::when_asked, std::uint64_t seed = 1) {
    fake_cuda::reset(seed);
    fake_cuda::set_pace(pace);
  }
  ~FakeDevice() {
    for (const std::string& finding : fake_cuda::findings()) FAIL_CHECK(finding);
    CHECK(fake_cuda::live() == fake_cuda::Live{});
    CHECK(fake_cuda::num_current() == 0);
    CHECK(fake_cuda::capture_mode() == 0);
    fake_cuda::reset();
  }
  FakeDevice(const FakeDevice&) = delete;
  FakeDevice& operator=(const FakeDevice&) = delete;
};

/// All that a batch holds.
struct Snapshot {
  std::uint64_t epoch = 0;
  std::uint64_t index = 0;
  std::vector<std::uint64_t> samples{};
  std::vector<std::int64_t> labels{};
  std::vector<std::uint8_t> mask{};
  std::vector<std::byte> images{};
  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

inline Snapshot snapshot(const Batch& batch) {
  return {.epoch = batch.epoch(),
          .index = batch.index(),
          .samples = {batch.samples().begin(), batch.samples().end()},
          .labels = {batch.labels().begin(), batch.labels().end()},
          .mask = {batch.mask().begin(), batch.mask().end()},
          .images = {batch.pixels().begin(), batch.pixels().end()}};
}

/// Whoever uses batches: has a stream, and gives it work that reads a batch, which is done some time later.
class Trainer {
 public:
  explicit Trainer(std::shared_ptr<const cuda_detail::Context> context) : context_(context), stream_(context) {}
  ~Trainer() { stream_.synchronize(); }
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  CudaStream stream() const { return stream_.handle(); }

  void step(const DeviceBatch& batch) {
    auto read = std::make_unique<Snapshot>();
    read->epoch = batch.epoch();
    read->index = batch.index();
    read->samples.assign(batch.samples().begin(), batch.samples().end());
    read->labels.resize(batch.size());
    read->mask.resize(batch.size());
    read->images.resize(batch.size() * batch.transform().image_bytes());
    const cuda_detail::Current current(*context_);
    copy(read->labels, batch.labels());
    copy(read->mask, batch.mask());
    copy(read->images, batch.images());
    read_.push_back(std::move(read));
  }
  /// What the steps so far have read.
  std::vector<Snapshot> finish() {
    stream_.synchronize();
    std::vector<Snapshot> all;
    for (const auto& one : read_) all.push_back(std::move(*one));
    read_.clear();
    return all;
  }

 private:
  template <typename Value>
  void copy(std::vector<Value>& to, const void* from) const {
    const cuda_detail::Driver& driver = context_->driver();
    driver.check(driver.cuMemcpyDtoHAsync_v2(to.data(), reinterpret_cast<cuda_detail::DevicePointer>(from),
                                             to.size() * sizeof(Value), stream_.handle()),
                 "read a batch");
  }

  std::shared_ptr<const cuda_detail::Context> context_;
  cuda_detail::Stream stream_;
  std::vector<std::unique_ptr<Snapshot>> read_;
};

/// The rest of the current epoch.
inline void train_epoch(CudaLoader& loader, Trainer& trainer) {
  while (const auto batch = loader.next(trainer.stream())) trainer.step(*batch);
}

inline std::vector<Snapshot> snapshots(Loader& loader, int num_epochs = 1) {
  std::vector<Snapshot> all;
  for (int epoch = 0; epoch < num_epochs; ++epoch) {
    while (const auto batch = loader.next()) all.push_back(snapshot(*batch));
  }
  return all;
}

inline Transform float_transform(DType dtype, PixelLayout layout, std::uint32_t size = 32) {
  Transform transform = train_transform(size);
  transform.dtype = dtype;
  transform.layout = layout;
  transform.normalize = true;
  return transform;
}

}  // namespace bale::test
