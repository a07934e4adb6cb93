#include "bale/tools/measure/bench_stages.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <mutex>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/system/cores.hpp"
#include "bale/formats/base/text/key_text.hpp"
#include "bale/reader/read_in_order.hpp"
#include "bale/tools/measure/process_usage.hpp"

namespace bale::tools {
namespace {

constexpr std::uint64_t k_page = 4096;

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// The peak of the memory in use, measured a few times per second by the threads that call look().
class MemoryPeak {
 public:
  void look(std::span<const int> pids) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock() || (peak_ && since_.seconds() < k_pause_seconds)) return;
    look_now(pids);
    since_ = {};
  }
  void look_now(std::span<const int> pids) { peak_ = std::max(peak_, pss_bytes(pids)); }
  std::optional<std::uint64_t> peak() const { return peak_; }

 private:
  static constexpr double k_pause_seconds = 0.25;
  std::mutex mutex_;
  Stopwatch since_;
  std::optional<std::uint64_t> peak_;
};

/// Bytes of the shard files per image.
double bytes_per_image(const Dataset& dataset) {
  double bytes = 0;
  if (dataset.manifest()) {
    for (const ManifestShard& shard : dataset.manifest()->shards) bytes += static_cast<double>(shard.bytes);
  } else {
    for (std::size_t shard = 0; shard < dataset.num_shards(); ++shard) {
      bytes += static_cast<double>(dataset.use_index(shard)->shard_bytes());
    }
  }
  return bytes / static_cast<double>(dataset.size());
}

/// Reads one byte of every page, as a consumer would.
void touch(Bytes bytes) {
  static std::atomic<unsigned> sink{0};
  unsigned sum = 0;
  for (std::size_t at = 0; at < bytes.size(); at += k_page) sum += std::to_integer<unsigned>(bytes[at]);
  sink.store(sum, std::memory_order_relaxed);  // so that the reads are not optimized away
}

std::uint64_t consume(const Batch& batch, bool fixed_shape) {
  if (fixed_shape) {
    touch(batch.pixels());
  } else {
    for (std::size_t i = 0; i < batch.size(); ++i) touch(batch.image(i));
  }
  return static_cast<std::uint64_t>(std::count(batch.mask().begin(), batch.mask().end(), std::uint8_t{1}));
}

Feed feed_of(Loader& loader) {
  const bool fixed_shape = loader.options().transform.has_fixed_shape();
  return {
      .dataset = &loader.dataset(),
      .take = [&loader, fixed_shape] { return consume(next_over_epochs([&] { return loader.next(); }), fixed_shape); },
      .wait_seconds = [&loader] { return loader.counters().wait_seconds; },
      .worker_pids = [&loader] { return loader.worker_pids(); },
      .bad_samples = [&loader] { return loader.bad_samples(); }};
}

/// Takes batches and counts them and their images.
class Consumer {
 public:
  Consumer(const Feed& feed, Progress& progress) : feed_(feed), progress_(progress) {}

  void take() {
    progress_.throw_if_stopped();
    const std::uint64_t images = feed_.take();
    images_ += images;
    ++batches_;
    progress_.samples += images;
  }

  /// Counts from now on.
  void begin() {
    images_ = batches_ = 0;
    waited_ = feed_.wait_seconds();
    cpu_ = cpu_seconds(feed_.worker_pids());
    since_ = {};
  }
  double seconds() const { return since_.seconds(); }
  std::uint64_t batches() const { return batches_; }

  StageResult result() const {
    StageResult result{.images = images_, .batches = batches_, .seconds = seconds()};
    result.cpu_seconds = cpu_seconds(feed_.worker_pids()) - cpu_;
    result.wait_seconds = feed_.wait_seconds() - waited_;
    result.bytes = bytes_per_image(*feed_.dataset) * static_cast<double>(images_);
    return result;
  }

 private:
  const Feed& feed_;
  Progress& progress_;
  Stopwatch since_;
  std::uint64_t images_ = 0;
  std::uint64_t batches_ = 0;
  double waited_ = 0;
  double cpu_ = 0;
};

std::vector<std::string> bad_lines(const std::vector<BadSample>& bad_samples) {
  std::vector<std::string> lines;
  for (const BadSample& bad : bad_samples) {
    // The reason is the line of an error, which names what it knows.
    const std::string shard = shown_name(bad.shard);
    std::string line = printable(bad.reason);
    if (line.find(shard) == std::string::npos) line = fmt::format("{}: {}", shard, line);
    if (line.find("(key ") == std::string::npos) line += fmt::format(" (key {})", printed_key(bad.key));
    lines.push_back(std::move(line));
  }
  return lines;
}

StageResult measure_loading(const std::string& spec, const LoaderOptions& options, const StagePasses& passes,
                            Progress& progress) {
  const Stopwatch since_begin;
  Loader loader(spec, options);
  require_samples(loader.dataset(), spec);
  const std::uint64_t batches = std::min(passes.max_batches, loader.size());
  progress.total_samples = std::min(batches * options.batch_size, loader.dataset().size()) * passes.passes;
  return measure_feed(feed_of(loader), batches, passes.passes, since_begin.seconds(), progress);
}

unsigned reader_threads(const LoaderOptions& options) {
  return options.workers == k_workers_auto ? usable_cores() : std::max(1U, options.workers);
}

/// Reads `images` deliveries from `begin` on. Threads call `on_image` with the number read so far.
StageResult read_pass(const Dataset& dataset, const LoaderOptions& options, std::uint64_t begin, std::uint64_t images,
                      Progress& progress, const std::function<void(std::uint64_t)>& on_image) {
  const EpochOrder order(Selection::all(dataset.size()), options.shuffle, options.seed);
  std::atomic<std::uint64_t> num_read{0};
  const double cpu = cpu_seconds({});
  const Stopwatch since_begin;
  read_in_order(dataset, order, begin, begin + images, {.jobs = reader_threads(options)},
                [&](const SampleView& sample) {
                  progress.throw_if_stopped();
                  for (const FieldView& field : sample.fields) touch(field.bytes);
                  ++progress.samples;
                  on_image(++num_read);
                });
  return {.images = images,
          .batches = (images + options.batch_size - 1) / options.batch_size,
          .seconds = since_begin.seconds(),
          .cpu_seconds = cpu_seconds({}) - cpu,
          .bytes = bytes_per_image(dataset) * static_cast<double>(images)};
}

StageResult measure_reading_passes(const std::string& spec, bool verify, const LoaderOptions& options,
                                   const StagePasses& passes, Progress& progress) {
  const Stopwatch since_begin;
  const Dataset dataset = Dataset::open(spec, {.verify_checksums = verify, .relative_names = true});
  require_samples(dataset, spec);
  const std::uint64_t batch = std::min<std::uint64_t>(options.batch_size, dataset.size());
  const std::uint64_t batches = std::min(passes.max_batches, (dataset.size() + batch - 1) / batch);
  const std::uint64_t images = std::min(batches * batch, dataset.size());
  progress.total_samples = images * passes.passes;
  StageResult result;
  MemoryPeak memory;
  std::atomic<double> first_batch_s{0};
  for (std::uint64_t pass = 0; pass < passes.passes; ++pass) {
    const bool timed = pass + 1 == passes.passes;
    const auto on_image = [&](std::uint64_t count) {
      if (pass == 0 && count == batch) first_batch_s = since_begin.seconds();
      if (!timed && count % batch == 0) memory.look({});
    };
    result = read_pass(dataset, options, pass * images, images, progress, on_image);
  }
  memory.look_now({});
  result.first_batch_s = first_batch_s;
  result.memory = memory.peak();
  return result;
}

}  // namespace

void require_samples(const Dataset& dataset, const std::string& spec) {
  if (dataset.size() == 0) throw Error(ErrorCode::invalid_argument, "there are no samples to load", {.path = spec});
}

StageResult measure_feed(const Feed& feed, std::uint64_t batches_a_pass, std::uint64_t passes, double begun_s,
                         Progress& progress) {
  const Stopwatch since_begin;
  Consumer consumer(feed, progress);
  MemoryPeak memory;
  double first_batch_s = 0;
  for (std::uint64_t pass = 0; pass < passes; ++pass) {
    // There is no pause between two passes, which would let the workers get ahead of the timed pass.
    const bool timed = pass + 1 == passes;
    if (feed.begin_pass) feed.begin_pass();
    consumer.begin();
    for (std::uint64_t batch = 0; batch < batches_a_pass; ++batch) {
      consumer.take();
      if (first_batch_s == 0) first_batch_s = begun_s + since_begin.seconds();
      if (!timed) memory.look(feed.worker_pids());
    }
  }
  StageResult result = consumer.result();
  memory.look_now(feed.worker_pids());
  result.first_batch_s = first_batch_s;
  result.memory = memory.peak();
  result.bad = bad_lines(feed.bad_samples());
  return result;
}

std::string_view stage_name(Stage stage) {
  switch (stage) {
    case Stage::read:
      return "read";
    case Stage::verify:
      return "verify";
    case Stage::decode:
      return "decode";
    case Stage::train:
      return "train";
  }
  return {};
}

StageResult measure_stage(Stage stage, const std::string& spec, const LoaderOptions& options, const StagePasses& passes,
                          Progress& progress) {
  if (stage == Stage::train) return measure_loading(spec, options, passes, progress);
  if (stage != Stage::decode) {
    return measure_reading_passes(spec, stage == Stage::verify, options, passes, progress);
  }
  LoaderOptions whole = options;
  whole.transform = ragged_transform();
  return measure_loading(spec, whole, passes, progress);
}

StageResult measure_reading(const Dataset& dataset, const LoaderOptions& options, std::uint64_t begin,
                            std::uint64_t images, Progress& progress) {
  return read_pass(dataset, options, begin, images, progress, [](std::uint64_t) {});
}

StageResult measure_loader_for(Loader& loader, double seconds, Progress& progress) {
  return measure_feed_for(feed_of(loader), loader.options().prefetch, seconds, progress);
}

StageResult measure_feed_for(const Feed& feed, std::uint32_t prefetch, double seconds, Progress& progress) {
  constexpr double k_warm_up = 0.25;  // share of the measured time
  Consumer consumer(feed, progress);
  const Stopwatch since_begin;
  consumer.begin();
  consumer.take();
  const double first_batch_s = since_begin.seconds();
  // The batches that are in the ring now were made before the measurement, so they do not count.
  while (consumer.batches() < prefetch || consumer.seconds() < k_warm_up * seconds) consumer.take();
  if (feed.begin_pass) feed.begin_pass();
  consumer.begin();
  while (consumer.batches() < 2 || consumer.seconds() < seconds) consumer.take();
  StageResult result = consumer.result();
  result.first_batch_s = first_batch_s;
  result.memory = pss_bytes(feed.worker_pids());
  result.bad = bad_lines(feed.bad_samples());
  return result;
}

}  // namespace bale::tools
