// Measures the stages of feeding a trainer one by one, for `bale bench` and `bale tune`.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/progress.hpp"
#include "bale/loader/loader.hpp"
#include "bale/loader/loader_options.hpp"

namespace bale::tools {

enum class Stage { read, verify, decode, train };

/// In the order in which a sample passes through them.
inline constexpr Stage k_stages[] = {Stage::read, Stage::verify, Stage::decode, Stage::train};
/// "read", "verify", "decode", "train".
std::string_view stage_name(Stage stage);

/// How long a stage runs: `passes` passes of at most `max_batches` batches. Only the last pass is timed.
struct StagePasses {
  std::uint64_t passes = 2;
  std::uint64_t max_batches = std::numeric_limits<std::uint64_t>::max();  // a pass also ends at the end of the dataset
};

/// The measurement. Images, seconds and CPU time are those of the last pass.
struct StageResult {
  std::uint64_t images = 0;  // delivered, without padding and bad samples
  std::uint64_t batches = 0;
  double seconds = 0;
  double cpu_seconds = 0;               // all processes
  double bytes = 0;                     // of the shards, for these images
  double first_batch_s = 0;             // since the stage began, including opening the dataset and starting workers
  double wait_seconds = 0;              // the caller's wait for batches
  std::optional<std::uint64_t> memory;  // peak PSS of all processes, in bytes
  std::vector<std::string> bad;         // samples that could not be decoded: "shard: reason (key ...)"

  double images_per_s() const { return seconds > 0 ? static_cast<double>(images) / seconds : 0; }
  double bytes_per_s() const { return seconds > 0 ? bytes / seconds : 0; }
  double cpu_s_per_1000() const { return images > 0 ? cpu_seconds * 1000 / static_cast<double>(images) : 0; }
};

/// A source of batches: the functions that a measurement needs.
struct Feed {
  const Dataset* dataset = nullptr;
  std::function<std::uint64_t()> take{};  // takes, uses and releases a batch; returns its images that count
  std::function<void()> begin_pass{};     // may be empty
  std::function<double()> wait_seconds{};
  std::function<std::vector<int>()> worker_pids{};
  std::function<std::vector<BadSample>()> bad_samples{};
};
/// Takes `batches_a_pass` batches from `feed`, `passes` times. first_batch_s includes the `begun_s` before this call.
StageResult measure_feed(const Feed& feed, std::uint64_t batches_a_pass, std::uint64_t passes, double begun_s,
                         Progress& progress);

/// Throws `invalid_argument` if there are no samples.
void require_samples(const Dataset& dataset, const std::string& spec);
/// The next batch of a Loader or CudaLoader; at the end of an epoch, the first batch of the next one.
template <typename Next>
auto next_over_epochs(const Next& next) {
  auto batch = next();
  if (!batch) batch = next();
  if (!batch) {
    throw Error(ErrorCode::invalid_argument, "the dataset gives no batch: it has fewer samples than one");
  }
  return std::move(*batch);
}

/// Measures `stage` over `spec`. `options` are those of the train stage. The other stages use the options that apply to
/// them: reading has one thread per worker, decoding delivers whole images. Throws what Dataset and Loader throw, and
/// `interrupted`.
StageResult measure_stage(Stage stage, const std::string& spec, const LoaderOptions& options, const StagePasses& passes,
                          Progress& progress);

/// Reads `images` deliveries of `dataset` as the reading stages do, from number `begin` on, counted over all epochs.
StageResult measure_reading(const Dataset& dataset, const LoaderOptions& options, std::uint64_t begin,
                            std::uint64_t images, Progress& progress);

/// Takes batches of `loader` for about `seconds`, after a warm-up of a quarter of that. Continues over ends of epochs.
StageResult measure_loader_for(Loader& loader, double seconds, Progress& progress);
/// The same of any feed whose ring has `prefetch` batches.
StageResult measure_feed_for(const Feed& feed, std::uint32_t prefetch, double seconds, Progress& progress);

// The pipeline that `bench`, `tune` and `doctor` measure.

struct PipelineCommand {
  std::string spec;
  LoaderOptions options{.workers = 2, .on_bad_sample = OnBadSample::skip};
};

}  // namespace bale::tools
