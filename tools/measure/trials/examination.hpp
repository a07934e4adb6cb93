// Measures the parts of training one after another: loading, reading, copying. What `bale doctor` does.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "bale/tools/measure/bench_device.hpp"
#include "bale/tools/measure/bench_stages.hpp"
#include "bale/tools/measure/verdicts/doctor_verdict.hpp"

namespace bale::tools {

struct ExaminationOptions {
  double seconds = 3;           // for each part
  std::optional<int> device{};  // of CUDA
  double step_s = 0;            // of training, without waiting for data; 0: unknown
};

struct Examination {
  DoctorFigures figures;
  PlainCopies copies;  // if there is a device
};

/// Calls `show_status` with what is measured, and with an empty text at the end. Throws what Loader throws,
/// `invalid_argument` for a dataset without samples, and `interrupted`.
Examination examine(const PipelineCommand& pipeline, const ExaminationOptions& options,
                    const std::function<void(const std::string&)>& show_status);

}  // namespace bale::tools
