// Measures how fast the loader feeds a device: `bale bench --device cuda`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bale/loader/cuda/cuda_loader.hpp"
#include "bale/tools/measure/bench_stages.hpp"

namespace bale::tools {

struct DeviceFigures {
  std::string name;              // "NVIDIA H200"
  double copy_bytes_per_s = 0;   // of the loader's copies
  double plain_bytes_per_s = 0;  // of a plain copy of the same size from page-locked memory
  double hidden_share = 0;       // of the copies' time in which no stream waited
  bool converts = false;         // the device converts, not the workers
  // If steps were requested:
  double step_s = 0;
  std::optional<double> idle_share;  // of the time from the first step to the last, in which no step ran
};

/// Throws what CudaLoader throws if there is no device of this number.
void require_device(int device);

/// The train stage of measure_stage() with batches on device `device`, each followed by a step of `step_s` seconds.
/// Throws what CudaLoader throws, and `unsupported` if steps are requested and the build has no kernels.
StageResult measure_device(const std::string& spec, const LoaderOptions& options, int device, double step_s,
                           const StagePasses& passes, Progress& progress, DeviceFigures& figures);

/// How fast batches on a device are made, if workers or the device decode.
struct DecodingTrial {
  StageResult result;
  double cpu_share = 0;     // of the cores, used by this program and its workers
  double device_share = 0;  // of the images, decoded by the device
  std::string refusal{};    // why the device decodes nothing, if it should
};
/// Takes batches of the train stage on device `device` for about `seconds`. Throws what CudaLoader throws.
DecodingTrial measure_decoding(const std::string& spec, const LoaderOptions& options, int device, DecodeOn decode,
                               double seconds, unsigned cores, Progress& progress);

/// The transform of the workers if a device delivers `delivered`: 8 bits per value if the device converts.
Transform made_for_device(const Transform& delivered);

struct PlainCopies {
  std::string device_name;
  double bytes_per_s = 0;
};
/// Measures copies of one batch of `delivered` images from page-locked memory.
PlainCopies measure_plain_copies(int device, const Transform& delivered, std::uint32_t batch_size);

}  // namespace bale::tools
