// The stages of feeding a trainer, measured one by one: what `bale bench` and `bale tune` are made of.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/loader/loader.hpp"
#include "bale/tools/terminal/progress.hpp"

namespace bale::tools {

enum class Stage { read, verify, decode, train };

/// In the order in which a sample goes through them.
inline constexpr Stage k_stages[] = {Stage::read, Stage::verify, Stage::decode, Stage::train};
/// "read", "verify", "decode", "train".
std::string_view stage_name(Stage stage);

/// Counters that a ProgressDisplay polls while a stage runs, and the way to stop it.
struct StageProgress {
  std::atomic<std::uint64_t> images{0};
  std::atomic<std::uint64_t> total{0};
  std::atomic<bool> stop{false};
  ProgressCounts counts() const { return {.samples = images, .total_samples = total}; }
};

/// How long a stage runs: so many passes of at most so many batches; only the last pass is timed.
struct StagePasses {
  std::uint64_t passes = 2;
  std::uint64_t max_batches = std::numeric_limits<std::uint64_t>::max();  // also ended by the end of the dataset
};

/// What was measured. Images, seconds and CPU are those of the last pass.
struct StageResult {
  std::uint64_t images = 0;  // delivered, each counted once: padding and bad samples do not
  std::uint64_t batches = 0;
  double seconds = 0;
  double cpu_seconds = 0;               // all processes
  double bytes = 0;                     // of the shards, for these images
  double first_batch_s = 0;             // since the stage began, opening the dataset and starting workers included
  double wait_seconds = 0;              // of the caller for batches
  std::optional<std::uint64_t> memory;  // most PSS of all processes seen, in bytes
  std::vector<std::string> bad;         // what could not be decoded: "shard: reason (key ...)"

  double images_per_s() const { return seconds > 0 ? static_cast<double>(images) / seconds : 0; }
  double bytes_per_s() const { return seconds > 0 ? bytes / seconds : 0; }
  double cpu_s_per_1000() const { return images > 0 ? cpu_seconds * 1000 / static_cast<double>(images) : 0; }
};

/// Whatever gives batches, as far as measuring it goes.
struct Feed {
  const Dataset* dataset = nullptr;
  std::function<std::uint64_t()> take{};  // a batch, delivered, used and given back: the images in it that count
  std::function<void()> begin_pass{};     // may be empty
  std::function<double()> wait_seconds{};
  std::function<std::vector<int>()> worker_pids{};
  std::function<std::vector<BadSample>()> bad_samples{};
};
/// Takes passes.passes times so many batches from `feed`; the first of them counts from `begun_s` seconds ago.
StageResult measure_feed(const Feed& feed, std::uint64_t batches_a_pass, std::uint64_t passes, double begun_s,
                         StageProgress& progress);

/// Throws `invalid_argument` where there are no samples.
void require_samples(const Dataset& dataset, const std::string& spec);
/// Of `loader`, or CudaLoader: the next batch, into the next epoch where one ends.
template <typename Next>
auto next_over_epochs(const Next& next) {
  auto batch = next();
  if (!batch) batch = next();
  if (!batch) {
    throw Error(ErrorCode::invalid_argument, "the dataset gives no batch: it has fewer samples than one");
  }
  return std::move(*batch);
}

/// Measures `stage` over `spec`. `options` are those of the train pipeline; the others take from them what concerns
/// them: reading has a thread for each worker, decoding gives whole images. Throws what Dataset and Loader throw, and
/// `interrupted`.
StageResult measure_stage(Stage stage, const std::string& spec, const LoaderOptions& options, const StagePasses& passes,
                          StageProgress& progress);

/// Reads so many deliveries of `dataset` as the reading stages do, from the one numbered `begin` over all epochs on.
StageResult measure_reading(const Dataset& dataset, const LoaderOptions& options, std::uint64_t begin,
                            std::uint64_t images, StageProgress& progress);

/// Takes batches of `loader` for about `seconds`, after a fourth of that to warm up, across ends of epochs.
StageResult measure_loader_for(Loader& loader, double seconds, StageProgress& progress);

}  // namespace bale::tools
