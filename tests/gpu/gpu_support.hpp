// What the tests share that run over whichever CUDA driver is found at run time: that of the machine, or the tests' own
// (tests/support/fake_cuda), which a build without a GPU uses. They call no function that only the latter has.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bale/loader/cuda/driver/context.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/unit/cuda/device_support.hpp"
#include "bale/tools/measure/step/dummy_step.hpp"

namespace bale::test {

/// Says in the results that a part of the running test was not run, and why.
void note_skip(const std::string& why);

/// A function of the driver that bale does not use; nullptr if this driver does not have it.
void* driver_function(const char* name);

/// Device 0, for a test. At its end nothing may have gone wrong that the driver noticed: the tests' own notices misuse,
/// and another one fails calls after it.
class Device {
 public:
  Device() : context_(cuda_detail::Context::open(0)) {}
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::shared_ptr<const cuda_detail::Context>& context() const { return context_; }

 private:
  std::shared_ptr<const cuda_detail::Context> context_;
};

/// Says that copies from ordinary memory are meant: the tests' own driver takes them as a fault.
void expect_pageable_copies();

/// A consumer whose device is behind: each step keeps its stream busy before it reads the batch.
class SlowTrainer {
 public:
  explicit SlowTrainer(const std::shared_ptr<const cuda_detail::Context>& context) : trainer_(context) {
    const auto error = thrown_by([&] { busy_.emplace(context); });
    if (error) note_skip(std::string("a stream that is busy: ") + error->what());
  }
  CudaStream stream() const { return trainer_.stream(); }
  void step(const DeviceBatch& batch) {
    if (busy_) busy_->run(static_cast<cuda_detail::StreamHandle>(stream()), k_step_s);
    trainer_.step(batch);
  }
  std::vector<Snapshot> finish() { return trainer_.finish(); }

 private:
  static constexpr double k_step_s = 0.003;
  std::optional<cuda_detail::DummyStep> busy_;
  Trainer trainer_;
};

/// Says in the results what this driver refuses. Returns whether that is nothing.
inline bool refuses_nothing(const CudaLoader& loader) {
  const auto refused = loader.fallbacks();
  for (const std::string& one : refused) note_skip(one);
  return refused.empty();
}

/// Batches of floats that the device converts, of a pack of small images.
inline LoaderOptions float_batches(DType dtype, PixelLayout layout, std::uint32_t size = 32) {
  LoaderOptions options = small_batches(2, WorkerMode::threads);
  options.transform = float_transform(dtype, layout, size);
  return options;
}

/// The batches of a loader without a device.
inline std::vector<Snapshot> on_host(const std::string& pack, const LoaderOptions& options, int num_epochs = 1) {
  Loader loader(pack, options);
  return snapshots(loader, num_epochs);
}

}  // namespace bale::test
