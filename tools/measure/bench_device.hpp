// Feeding a device, measured: `bale bench --device cuda`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bale/tools/measure/bench_stages.hpp"

namespace bale::tools {

struct DeviceFigures {
  std::string name;              // "NVIDIA H200"
  double copy_bytes_per_s = 0;   // of the loader's copies
  double plain_bytes_per_s = 0;  // of a plain copy of as many bytes from page-locked memory
  double hidden_share = 0;       // of the copies' time: no stream waited for it
  bool converts = false;         // the device, rather than the workers
  // Where steps were asked for:
  double step_s = 0;
  std::optional<double> idle_share;  // of the time from the first step to the last: the device had no step to do
};

/// The train stage of measure_stage() with batches on device `device`, each followed by work of `step_s` seconds there.
/// Throws what CudaLoader throws, and `unsupported` for steps in a build without kernels.
StageResult measure_device(const std::string& spec, const LoaderOptions& options, int device, double step_s,
                           const StagePasses& passes, StageProgress& progress, DeviceFigures& figures);

/// What the workers make for a device to deliver: 8 bits a value, where the device converts.
Transform made_for_device(const Transform& delivered);

struct PlainCopies {
  std::string device_name;
  double bytes_per_s = 0;
};
/// Copies of one batch each, of `delivered` images, from page-locked memory.
PlainCopies measure_plain_copies(int device, const Transform& delivered, std::uint32_t batch_size);

}  // namespace bale::tools
