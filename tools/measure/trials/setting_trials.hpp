// Measures settings of a pipeline one after another, each on other samples than the one before, because the samples of
// one are in memory afterwards. What `bale tune` does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "bale/formats/base/system/parallel.hpp"
#include "bale/tools/measure/bench_device.hpp"
#include "bale/tools/measure/bench_stages.hpp"
#include "bale/tools/measure/verdicts/tune_verdict.hpp"

namespace bale::tools {

/// "2 workers, 8 batches in the ring".
std::string setting_text(unsigned workers, std::uint32_t prefetch);

class SettingTrials {
 public:
  /// Calls `show_status` with what is measured, and with an empty text at the end of a measurement. `pipeline` outlives
  /// this object.
  SettingTrials(const PipelineCommand& pipeline, double seconds, std::function<void(const std::string&)> show_status)
      : pipeline_(pipeline), seconds_(seconds), show_status_(std::move(show_status)) {}

  /// Runs the pipeline for the number of seconds given. Throws what Loader throws, and `interrupted`.
  TuneRow measure(unsigned workers, std::uint32_t prefetch);
  /// Images per second of reading without decoding, with as many threads as `row` has workers.
  double reading_alone(const TuneRow& row);

  /// The pipeline with the setting of `row`, with batches on a device.
  DecodingTrial decoding(const TuneRow& row, int device, DecodeOn decode);

  unsigned cores() const { return cores_; }

 private:
  LoaderOptions options_of(unsigned workers, std::uint32_t prefetch) const;

  const PipelineCommand& pipeline_;
  double seconds_;
  std::function<void(const std::string&)> show_status_;
  unsigned cores_ = usable_cores();
  std::uint64_t epoch_ = 0;
};

}  // namespace bale::tools
