#include "bale/loader/cuda/cuda_session.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/loader/cuda/buffers/device_buffer_pool.hpp"
#include "bale/loader/session/session.hpp"

namespace bale::cuda_detail {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto k_first_pause = std::chrono::microseconds(20);
constexpr auto k_longest_pause = std::chrono::microseconds(500);
constexpr auto k_ask_every = std::chrono::milliseconds(50);  // as Loader::next() does
constexpr int k_copy_ms = 1;                                 // between two looks at a copy that is running
constexpr int k_worker_ms = 50;  // limits each wait for a worker, which may die before it announces a completion

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Transforms of sources make images of one form, that of the first.
LoaderOptions with_first_transform(LoaderOptions options) {
  if (!options.source_transforms.empty()) options.transform = options.source_transforms.front();
  return options;
}

LoaderOptions of_workers(LoaderOptions options, const PixelKernels& kernels, bool device_decodes) {
  options.copy_when_held = false;  // copies to the device start from the ring, which is page-locked
  if (kernels.convert()) {
    options.transform = before_kernels(options.transform);
    for (Transform& transform : options.source_transforms) transform = before_kernels(transform);
  }
  if (device_decodes) options.device_pixels = DeviceDecoder::most_pixels(options.batch_size);
  return options;
}

std::unique_ptr<DeviceDecoder> make_decoder(const std::shared_ptr<const Context>& context, const LoaderOptions& options,
                                            const CudaOptions& cuda, const PixelKernels& kernels,
                                            std::string& refusal) {
  if (cuda.decode == DecodeOn::host) return nullptr;
  refusal = kernels.refusal;
  if (!refusal.empty()) return nullptr;
  const Transform transform = before_kernels(options.transform);
  return DeviceDecoder::load(context, cuda.nvjpeg_library, transform, options.max_pixels, refusal);
}

Loader make_loader(const std::string& spec, LoaderOptions options, std::optional<Selection> selection) {
  return selection ? Loader(spec, std::move(options), *std::move(selection)) : Loader(spec, std::move(options));
}

/// Says for a scope that the caller's thread uses the loader, and takes the mutex again at its end.
class CallerStages {
 public:
  CallerStages(std::unique_lock<std::recursive_mutex>& lock, bool& flag) : lock_(lock), flag_(flag) { flag_ = true; }
  ~CallerStages() {
    if (!lock_.owns_lock()) lock_.lock();
    flag_ = false;
  }
  CallerStages(const CallerStages&) = delete;
  CallerStages& operator=(const CallerStages&) = delete;

 private:
  std::unique_lock<std::recursive_mutex>& lock_;
  bool& flag_;
};

}  // namespace

DeviceSide::DeviceSide(std::shared_ptr<const Context> of_device, const Transform& delivered, std::uint32_t batch_size,
                       const CudaOptions& options, std::unique_ptr<const Converter> converts, bool decodes)
    : context(std::move(of_device)),
      transform(delivered),
      tables_layout(batch_size, options.mix.active(), decodes),
      copies(context),
      converter(std::move(converts)),
      // A converted batch frees its buffer at once; otherwise the caller holds the buffer.
      images(context, converter ? options.depth : options.depth + options.hold,
             batch_size * (converter ? before_kernels(delivered) : delivered).image_bytes()),
      tables(context, options.depth + options.hold, tables_layout.size_bytes),
      converted(converter
                    ? std::make_unique<DeviceBufferPool>(context, options.hold, batch_size * delivered.image_bytes())
                    : nullptr) {}

DeliveredBatch::~DeliveredBatch() {
  if (!device) return;
  if (is_used_by_another_thread()) {
    try {
      device->context->synchronize();
    } catch (...) {  // the device or its driver is gone; nothing is running on it
    }
  }
  (device->converted ? *device->converted : device->images).give_back(images_buffer, users);
  device->tables.give_back(tables_buffer, users);
  --device->num_held;
}

bool DeliveredBatch::is_used_by_another_thread() const {
  return std::this_thread::get_id() != thread &&
         std::find(users.begin(), users.end(), k_stream_of_thread) != users.end();
}

CudaSession::CudaSession(const std::string& spec, LoaderOptions options, CudaOptions cuda,
                         std::optional<Selection> selection)
    : options_(with_first_transform(std::move(options))),
      cuda_(checked(cuda, options_)),
      context_(Context::open(cuda_.device)),
      kernels_(PixelKernels::choose(context_, options_.transform, cuda_)),
      decoder_(make_decoder(context_, options_, cuda_, kernels_, decoding_refusal_)),
      loader_(make_loader(spec, of_workers(options_, kernels_, decoder_ != nullptr), std::move(selection))),
      device_(std::make_shared<DeviceSide>(context_, options_.transform, options_.batch_size, cuda_,
                                           std::move(kernels_.on_device), decoder_ != nullptr)),
      blocks_(context_, device_->tables_layout.size_bytes * loader_.options().prefetch, page_lock()),
      state_(loader_.state()),
      size_(loader_.size()),
      left_to_take_(size_) {
  const Transform delivered = options_.transform;
  options_ = loader_.options();
  options_.transform = delivered;
  for (std::uint32_t block = options_.prefetch; block > 0; --block) free_blocks_.push_back(block - 1);
  if (!kernels_.on_host) return;
  const std::size_t batch_bytes = std::size_t{options_.batch_size} * delivered.image_bytes();
  host_converted_ = std::make_unique<const HostMemory>(context_, batch_bytes * options_.prefetch, page_lock());
}

CudaSession::~CudaSession() {
  copy_thread_.reset();
  drop_staged();
  try {
    device_->copies.synchronize();
  } catch (...) {  // the device or its driver is gone; no copy is running
  }
}

void CudaSession::request_stop() {
  stop_requested_.store(true);
  loader_.session_->wake_waiters();
}

void CudaSession::start() {
  const std::lock_guard lock(mutex_);
  if (locked_ring_) return;
  loader_.start();
  locked_ring_ = std::make_unique<const LockedRange>(context_, loader_.pixel_memory(), page_lock());
  if (cuda_.copy_thread && options_.workers > 0) start_copy_thread();
}

void CudaSession::start_copy_thread() {
  try {
    copy_thread_ = std::make_unique<CopyThread>(
        [this] { return copy_ready(); },
        [this](std::uint32_t seen, int timeout_ms) { loader_.session_->wait_for_completion(seen, timeout_ms); },
        [this] { loader_.session_->wake_waiters(); });
  } catch (const std::system_error& error) {
    thread_refusal_ = error.what();
  }
}

std::optional<DeviceBatch> CudaSession::next(StreamHandle stream, const std::function<void()>& on_wait) {
  const auto attend = [&] {
    loader_detail::throw_if_stopped(stop_requested_);
    on_wait ? on_wait() : poll_remote_wait();
  };
  loader_detail::throw_if_stopped(stop_requested_);
  refuse_captured(*context_, stream);
  start();
  const WakeAtEnd wake(copy_thread_.get());
  std::unique_lock lock(mutex_);
  release_copied();
  if (staged_.empty()) stage(lock, attend);
  std::unique_ptr<DeliveredBatch> delivered;
  Staged& staged = staged_.front();
  if (!staged.is_end) {
    delivered = deliver(staged, stream);
    ++counters_.batches;
    counters_.samples += staged.num_valid;
  } else {
    size_ = staged.next_size;
  }
  state_ = staged.state;
  num_bad_samples_ = staged.num_bad_samples;
  staged_.pop_front();
  stage_ahead();
  if (!delivered) return std::nullopt;
  return DeviceBatch(std::move(delivered));
}

/// Takes the loader's next batch, or the end of its epoch, and starts the copy. Waits for workers, and for a slot if
/// all of them are being copied. In the meantime `lock` is released, and the copy thread only returns slots.
void CudaSession::stage(std::unique_lock<std::recursive_mutex>& lock, const std::function<void()>& on_wait) {
  const CallerStages caller_stages(lock, caller_stages_);
  while (free_blocks_.empty()) {
    const std::shared_ptr<const Event> done = copies_.front().done;
    lock.unlock();
    wait_for(*done, on_wait);
    lock.lock();
    release_copied();
  }
  if (!taken_) {
    lock.unlock();
    std::optional<Batch> batch;
    try {
      batch = loader_.next(on_wait);
    } catch (...) {
      num_bad_samples_ = loader_.counters().bad_samples;
      throw;
    }
    lock.lock();
    take(std::move(batch));
  }
  if (!taken_) return;
  try {
    copy_taken();
  } catch (...) {
    num_bad_samples_ = loader_.counters().bad_samples;
    throw;
  }
}

/// Keeps what the loader returned: a batch in `taken_`, or the end of an epoch in `staged_`.
void CudaSession::take(std::optional<Batch> batch) {
  const std::uint64_t num_bad_samples = loader_.counters().bad_samples;
  if (!batch) {
    left_to_take_ = loader_.size();
    staged_.push_back(
        {.state = loader_.state(), .num_bad_samples = num_bad_samples, .is_end = true, .next_size = left_to_take_});
    return;
  }
  --left_to_take_;
  taken_ = Taken{.batch = *std::move(batch), .state = loader_.state(), .num_bad_samples = num_bad_samples};
}

/// Whether another batch may be taken and copied before the next call of next().
bool CudaSession::can_stage() const {
  if (staged_.size() >= cuda_.depth) return false;
  // The next epoch is not started before the caller requests it.
  return options_.prefetch_next_epoch || left_to_take_ > 0 || taken_.has_value();
}

/// Stages what can be staged without waiting. Stops at an error and returns false; next() tries again later and throws
/// the error then.
bool CudaSession::stage_ahead() {
  try {
    while (can_stage() && !free_blocks_.empty() && (taken_ || loader_.ready())) {
      if (!taken_) take(loader_.next());
      if (taken_) copy_taken();
    }
    return true;
  } catch (...) {
    return false;
  }
}

/// What the copy thread does at each turn.
CopyThread::Pause CudaSession::copy_ready() {
  const std::uint32_t seen = loader_.session_->completions();
  const std::lock_guard lock(mutex_);
  try {
    release_copied();
  } catch (...) {  // the device is lost: next() throws
    return CopyThread::until_next();
  }
  if (!caller_stages_ && !stage_ahead()) return CopyThread::until_next();
  if (!copies_.empty()) return CopyThread::until_completion(seen, k_copy_ms);
  const bool waits_for_workers = !caller_stages_ && can_stage();
  return waits_for_workers ? CopyThread::until_completion(seen, k_worker_ms) : CopyThread::until_next();
}

bool CudaSession::decodes_on_device() const {
  const std::lock_guard lock(mutex_);
  return decoder_ && decoder_->given_up().empty();
}

/// Makes the batch for the caller, whose stream waits for the copy. If that fails, `staged` is unchanged.
std::unique_ptr<DeliveredBatch> CudaSession::deliver(const Staged& staged, StreamHandle stream) {
  auto delivered = std::make_unique<DeliveredBatch>();
  static_cast<BatchOnDevice&>(*delivered) = staged.batch;
  delivered->users = {stream};

  const Current current(*context_);
  Stall stall;
  if (cuda_.timing) stall.begin = std::make_shared<const Event>(context_, stream, Event::Timing::on);
  staged.copied->wait_on(stream);
  if (cuda_.timing) stall.end = std::make_shared<const Event>(context_, stream, Event::Timing::on);
  if (device_->converter) delivered->images_buffer = convert(staged, stream);
  if (cuda_.timing) stalls_.push_back(stall);
  delivered->device = device_;  // from here on its destructor returns the buffers
  delivered->is_beyond_hold = ++device_->num_held > cuda_.hold;
  if (delivered->is_beyond_hold) ++counters_.batches_beyond_hold;
  return delivered;
}

/// Converts into a buffer of `converted` and returns its number.
std::uint32_t CudaSession::convert(const Staged& staged, StreamHandle stream) {
  DeviceBufferPool& converted = *device_->converted;
  TakenBuffer out(converted, device_->num_held);
  converted.wait_on(out.number(), stream);
  device_->converter->run(stream, device_->images.address(staged.batch.images_buffer),
                          device_->tables.address(staged.batch.tables_buffer) + device_->tables_layout.rows,
                          converted.address(out.number()), static_cast<std::uint32_t>(staged.batch.samples.size()));
  out.keep();
  device_->images.give_back(staged.batch.images_buffer, {&stream, 1});
  return out.number();
}

/// Returns slots to the workers if their copies are done.
void CudaSession::release_copied() {
  while (!copies_.empty() && copies_.front().done->done()) {
    const Copy& copy = copies_.front();
    counters_.copied_bytes += copy.bytes;
    const HostMemory& from = host_converted_ ? *host_converted_ : blocks_;
    const bool is_locked = from.is_locked() && locked_ring_->is_locked();
    if (!is_locked) counters_.pageable_bytes += copy.bytes;
    if (copy.begun) counters_.copy_seconds += Event::seconds_between(*copy.begun, *copy.done);
    free_blocks_.push_back(copy.block);
    copies_.pop_front();
  }
  while (!stalls_.empty() && stalls_.front().end->done()) {
    counters_.stall_seconds += Event::seconds_between(*stalls_.front().begin, *stalls_.front().end);
    stalls_.pop_front();
  }
}

void CudaSession::wait_for(const Event& event, const std::function<void()>& on_wait) {
  const auto begin = Clock::now();
  auto asked = begin;
  auto pause = k_first_pause;
  while (!event.done()) {
    if (Clock::now() - asked >= k_ask_every) {
      on_wait();
      asked = Clock::now();
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, k_longest_pause);
  }
  counters_.device_wait_seconds += seconds_since(begin);
}

void CudaSession::load_state(const LoaderState& state) {
  const WakeAtEnd wake(copy_thread_.get());
  const std::lock_guard lock(mutex_);
  if (state == state_) return;  // keep the batches that are staged
  // The loader may be at this state already, ahead of what was delivered. It must still start again there, so that
  // sizes and numbers are those of a resumed epoch.
  if (state == loader_.state() && state.position != 0) loader_.set_epoch(state.epoch);
  loader_.load_state(state);
  drop_staged();
  taken_.reset();
  state_ = loader_.state();
  size_ = left_to_take_ = loader_.size();
}

void CudaSession::set_epoch(std::uint64_t epoch) {
  load_state({.epoch = epoch, .position = 0, .fingerprint = state_.fingerprint, .dataset = state_.dataset});
}

void CudaSession::drop_staged() noexcept {
  const StreamHandle copies = device_->copies.handle();
  for (const Staged& staged : staged_) {
    if (staged.is_end) continue;
    device_->images.give_back(staged.batch.images_buffer, {&copies, 1});
    device_->tables.give_back(staged.batch.tables_buffer, {&copies, 1});
  }
  staged_.clear();
}

std::vector<int> CudaSession::worker_pids() const {
  const std::lock_guard lock(mutex_);
  return loader_.worker_pids();
}

std::vector<BadSample> CudaSession::bad_samples() const {
  const std::lock_guard lock(mutex_);
  std::vector<BadSample> bad = loader_.bad_samples();
  bad.resize(std::min<std::size_t>(bad.size(), num_bad_samples_));
  return bad;
}

CudaCounters CudaSession::counters() const {
  const std::lock_guard lock(mutex_);
  CudaCounters counters = counters_;
  const LoaderCounters of_loader = loader_.counters();
  counters.workers_wait_seconds = of_loader.wait_seconds;
  counters.workers_replaced = of_loader.workers_replaced;
  if (decoder_) {
    counters.decoded_on_device = decoder_->num_on_device();
    counters.decoded_after_refusal = decoder_->num_after_refusal();
  }
  return counters;
}

std::vector<std::string> CudaSession::fallbacks() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all;
  if (!thread_refusal_.empty()) {
    all.push_back(fmt::format("this process cannot start a thread, so only next() starts copies: {}", thread_refusal_));
  }
  if (!kernels_.refusal.empty()) {
    all.push_back(
        fmt::format("the device does not take bale's kernels, so {}: {}",
                    kernels_.on_host ? "this process converts, mirrors and mixes pixels" : "workers convert pixels",
                    kernels_.refusal));
  }
  const std::string& not_decoding = decoder_ ? decoder_->given_up() : decoding_refusal_;
  if (!not_decoding.empty()) {
    all.push_back(fmt::format("the device does not decode images, so workers do: {}", not_decoding));
  }
  for (const std::string* const refusal : {&blocks_.refusal(), locked_ring_ ? &locked_ring_->refusal() : nullptr,
                                           host_converted_ ? &host_converted_->refusal() : nullptr}) {
    if (refusal == nullptr || refusal->empty()) continue;
    all.push_back(
        fmt::format("the driver does not page-lock memory, so copies to the device are slower: {}", *refusal));
    break;
  }
  return all;
}

}  // namespace bale::cuda_detail
