#include "bale/tools/measure/bench_device.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>

#include "bale/loader/cuda/cuda_loader.hpp"
#include "bale/loader/cuda/kernels/converter.hpp"
#include "bale/tools/measure/step/dummy_step.hpp"

namespace bale::tools {
namespace {

using cuda_detail::Event;

/// Stands in for a trainer: a stream, and dummy steps on it.
class DeviceTrainer {
 public:
  DeviceTrainer(std::shared_ptr<const cuda_detail::Context> context, double step_s)
      : context_(std::move(context)), stream_(context_), step_s_(step_s) {
    if (step_s_ > 0) step_ = std::make_unique<cuda_detail::DummyStep>(context_);
  }

  CudaStream stream() const { return stream_.handle(); }
  void step() {
    if (!step_) return;
    auto begin = std::make_shared<const Event>(context_, stream_.handle(), Event::Timing::on);
    step_->run(stream_.handle(), step_s_);
    auto end = std::make_shared<const Event>(context_, stream_.handle(), Event::Timing::on);
    if (!first_) first_ = begin;
    steps_.emplace_back(std::move(begin), std::move(end));
    // A real trainer does not run ahead of its device without limit either.
    if (steps_.size() > k_steps_ahead) settle();
  }
  /// Counts the steps from now on.
  void begin() {
    finish();
    first_.reset();
    busy_s_ = 0;
  }
  void finish() {
    stream_.synchronize();
    while (!steps_.empty()) settle();
  }
  std::optional<double> idle_share() const {
    if (!first_ || !last_) return std::nullopt;
    const double whole = Event::seconds_between(*first_, *last_);
    return whole > 0 ? std::clamp(1 - busy_s_ / whole, 0.0, 1.0) : 0;
  }

 private:
  static constexpr std::size_t k_steps_ahead = 2;

  void settle() {
    const auto& [begin, end] = steps_.front();
    end->synchronize();
    busy_s_ += Event::seconds_between(*begin, *end);
    last_ = end;
    steps_.pop_front();
  }

  std::shared_ptr<const cuda_detail::Context> context_;
  cuda_detail::Stream stream_;
  double step_s_;
  std::unique_ptr<cuda_detail::DummyStep> step_;
  std::deque<std::pair<std::shared_ptr<const Event>, std::shared_ptr<const Event>>> steps_;
  std::shared_ptr<const Event> first_;
  std::shared_ptr<const Event> last_;
  double busy_s_ = 0;
};

double share_hidden(const CudaCounters& counters) {
  if (counters.copy_seconds <= 0) return 0;
  return std::clamp(1 - counters.stall_seconds / counters.copy_seconds, 0.0, 1.0);
}

/// Counters at the begin of a pass go to `before`. All three must outlive the feed.
Feed feed_of(CudaLoader& loader, DeviceTrainer& trainer, CudaCounters& before) {
  return {.dataset = &loader.dataset(),
          .take =
              [&] {
                const std::uint64_t images = loader.counters().samples;
                const DeviceBatch batch = next_over_epochs([&] { return loader.next(trainer.stream()); });
                trainer.step();
                return loader.counters().samples - images;
              },
          .begin_pass =
              [&] {
                trainer.begin();
                before = loader.counters();
              },
          .wait_seconds = [&] { return loader.counters().workers_wait_seconds; },
          .worker_pids = [&] { return loader.worker_pids(); },
          .bad_samples = [&] { return loader.bad_samples(); }};
}

}  // namespace

void require_device(int device) { cuda_detail::Context::open(device); }

StageResult measure_device(const std::string& spec, const LoaderOptions& options, int device, double step_s,
                           const StagePasses& passes, Progress& progress, DeviceFigures& figures) {
  const auto begin = std::chrono::steady_clock::now();
  CudaLoader loader(spec, options, {.device = device, .timing = true});
  require_samples(loader.dataset(), spec);
  DeviceTrainer trainer(cuda_detail::Context::open(device), step_s);
  CudaCounters before;
  const Feed feed = feed_of(loader, trainer, before);
  const std::uint64_t batches = std::min(passes.max_batches, loader.size());
  progress.total_samples = std::min(batches * options.batch_size, loader.dataset().size()) * passes.passes;
  const std::chrono::duration<double> begun = std::chrono::steady_clock::now() - begin;
  const StageResult result = measure_feed(feed, batches, passes.passes, begun.count(), progress);
  trainer.finish();

  CudaCounters counted = loader.counters();
  if (counted.copy_seconds > before.copy_seconds) {  // else the loader had made all copies before the last pass began
    counted.copied_bytes -= before.copied_bytes;
    counted.copy_seconds -= before.copy_seconds;
    counted.stall_seconds -= before.stall_seconds;
  }
  if (counted.copy_seconds > 0) {
    figures.copy_bytes_per_s = static_cast<double>(counted.copied_bytes) / counted.copy_seconds;
  }
  figures.hidden_share = share_hidden(counted);
  figures.idle_share = trainer.idle_share();
  figures.step_s = step_s;
  figures.converts = loader.converts_on_device();
  const PlainCopies plain = measure_plain_copies(device, options.transform, options.batch_size);
  figures.name = plain.device_name;
  figures.plain_bytes_per_s = plain.bytes_per_s;
  return result;
}

DecodingTrial measure_decoding(const std::string& spec, const LoaderOptions& options, int device, DecodeOn decode,
                               double seconds, unsigned cores, Progress& progress) {
  CudaOptions cuda{.device = device};
  cuda.decode = decode;
  CudaLoader loader(spec, options, cuda);
  require_samples(loader.dataset(), spec);
  DeviceTrainer trainer(cuda_detail::Context::open(device), 0);
  CudaCounters before;
  DecodingTrial trial;
  trial.result = measure_feed_for(feed_of(loader, trainer, before), loader.options().prefetch, seconds, progress);
  trainer.finish();
  const double core_seconds = trial.result.seconds * cores;
  if (core_seconds > 0) trial.cpu_share = trial.result.cpu_seconds / core_seconds;
  const CudaCounters counted = loader.counters();
  if (counted.samples > 0) {
    // Of all images so far: those in the ring were decoded, but not delivered.
    const double decoded = static_cast<double>(counted.decoded_on_device) / static_cast<double>(counted.samples);
    trial.device_share = std::min(decoded, 1.0);
  }
  if (decode == DecodeOn::device && !loader.decodes_on_device()) trial.refusal = loader.fallbacks().back();
  return trial;
}

Transform made_for_device(const Transform& delivered) {
  return cuda_detail::kernels_can_make(delivered) ? cuda_detail::before_kernels(delivered) : delivered;
}

PlainCopies measure_plain_copies(int device, const Transform& delivered, std::uint32_t batch_size) {
  const auto context = cuda_detail::Context::open(device);
  const std::uint64_t size_bytes = made_for_device(delivered).image_bytes() * batch_size;
  return {.device_name = context->device_name(), .bytes_per_s = cuda_detail::plain_copy_rate(context, size_bytes)};
}

}  // namespace bale::tools
