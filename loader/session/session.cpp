#include "bale/loader/session/session.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/system/cores.hpp"
#include "bale/formats/shard/index/index_memory.hpp"
#include "bale/loader/nodes/node_local.hpp"
#include "bale/loader/worker/process/worker_program.hpp"

namespace bale::loader_detail {
namespace {

constexpr std::uint32_t k_slots_of_workers = 2;  // reserved for the workers, even if the caller keeps many batches
constexpr int k_wait_ms = 50;                    // limits each wait: a worker may die before it announces a completion

/// Sets a mark as long as it lives.
class Marked {
 public:
  explicit Marked(std::atomic<bool>& mark) : mark_(mark) { mark_.store(true); }
  ~Marked() { mark_.store(false); }
  Marked(const Marked&) = delete;
  Marked& operator=(const Marked&) = delete;

 private:
  std::atomic<bool>& mark_;
};

}  // namespace

Lease::Lease(std::shared_ptr<Session> session, std::uint32_t slot)
    : session_(std::move(session)),
      slot_(slot),
      head_copy_(session_->ring().head()),
      pixels_copy_(session_->ring().pixels(slot)),
      fields_copy_(session_->ring().fields(slot)) {
  const LoaderOptions& options = session_->options();
  const Ring& ring = session_->ring();
  const BatchMixer& mixer = session_->mixer();
  index = ring.slot(slot).index;
  epoch = ring.slot(slot).epoch;
  size = ring.slot(slot).num_rows.load();
  transform = &options.transform;
  further_views = options.further_views;
  source_transforms = options.source_transforms;
  places = &session_->view_places();
  pixels = ring.pixels(slot);
  rows = &ring.row(slot, 0);
  row_bytes = sizeof(Row);
  labels = ring.labels(slot).first(size);
  partner_labels = mixer.partner_labels(slot, size);
  shares = mixer.shares(slot, size);
  partners = mixer.partners(slot, size);
  samples = ring.samples(slot).first(size);
  mask = ring.mask(slot).first(size);
  const FieldColumns& columns = session_->fields();
  for (std::size_t field = 0; field < columns.places().num_fields(); ++field) {
    fields.push_back(columns.column(ring, slot, static_cast<std::uint32_t>(size), field));
  }
}

Lease::~Lease() {
  if (session_->is_of_this_process()) session_->release(slot_);
}

Session::~Session() { stop_workers(); }

std::unique_ptr<Workers> Session::make_workers() {
  if (options_.workers == 0) return std::make_unique<OwnWorker>(ring_, config_, shard_of_);
  if (options_.worker_mode == WorkerMode::threads) {
    return std::make_unique<ThreadPool>(ring_, config_, options_.workers, shard_of_);
  }
  if (!program_) program_ = std::make_unique<WorkerProgram>(options_.worker_program);
  return std::make_unique<ProcessPool>(ring_, *program_,
                                       ProcessPoolOptions{.num_workers = options_.workers,
                                                          .stall_timeout_s = options_.stall_timeout_s,
                                                          .index_fd = index_memory_ ? index_memory_->fd() : -1},
                                       [this](const WorkerEnd& end) { on_worker_end(end); });
}

void Session::start() {
  if (workers_) return;
  const UnboundThread unbound;  // inherited by workers and by the threads that are started here
  ring_.resume();
  workers_ = make_workers();
  const std::lock_guard lock(mutex_);
  start_read_ahead();
  open_batches();
}

void Session::stop_workers() {
  {
    const std::lock_guard lock(mutex_);  // release() uses it in the thread that destroys a batch
    read_ahead_.reset();
  }
  if (workers_) replaced_by_earlier_pools_ += workers_->num_replaced();
  workers_.reset();
}

void Session::end() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  stop_workers();
}

/// Opens a batch in every free slot. Requires mutex_.
void Session::open_batches() {
  update_read_ahead();
  while (slots_.has_free() && !ended_ && !closing_) {
    if (options_.workers == 0 && !slots_.open().empty()) return;  // next() fills one batch at a time
    const auto place = stream_.place(next_to_open_);
    if (!place || (!options_.prefetch_next_epoch && place->epoch != epoch_)) return;
    if (!is_counted_ && !may_open(*place)) return;
    open_batch(slots_.next(*place));
    ++next_to_open_;
  }
}

void Session::open_batch(const OpenBatch& batch) {
  const std::uint32_t slot = batch.slot;
  const auto num_rows = static_cast<std::uint32_t>(stream_.num_rows(batch.place));
  ring_.slot(slot).epoch = batch.place.epoch;
  ring_.slot(slot).index = batch.place.index;
  fields_.begin_batch(ring_, slot);
  std::uint64_t offset = 0;
  for (std::uint32_t i = 0; i < num_rows; ++i) {
    const StreamRow row = stream_.row(batch.place, i);
    ring_.mask(slot)[i] = row.planned.kind == PlannedRow::Kind::sample ? 1 : 0;
    if (row.planned.kind == PlannedRow::Kind::empty) {
      rows_.leave_out(slot, i, batch.number, offset);
    } else {
      rows_.place_fields(slot, i, row.pick);
      rows_.ask(slot, i, batch.number, row.pick, offset, faults_.is_quarantined(row.pick.sample));
    }
    offset += ring_.row(slot, i).capacity;
  }
  slots_.publish(batch, num_rows);
}

void Session::throw_if_in_next(const char* what) const {
  if (!is_in_next_.load()) return;
  throw Error(ErrorCode::invalid_argument, fmt::format("{} while next() of this loader runs", what),
              {.hint = "call it after next(), not in on_wait, on_event, a signal handler or another thread"});
}

std::optional<Batch> Session::next(const std::function<void()>& on_wait) {
  throw_if_in_next("next()");
  const Marked marked(is_in_next_);
  std::optional<RemoteRetryNotes> notes;  // of what this thread reads itself
  if (options_.on_event) {
    notes.emplace([this](const Error& error) {
      retries_.push_back({.kind = LoaderEvent::Kind::storage_retried, .reason = error.what()});
    });
  }
  try {
    return next_batch(on_wait);
  } catch (...) {
    deliver_events();
    throw;
  }
}

void throw_if_stopped(std::atomic<bool>& requested) {
  if (!requested.exchange(false)) return;
  throw Error(ErrorCode::interrupted, "a stop was requested", {.hint = "call next() again to continue"});
}

std::optional<Batch> Session::next_batch(const std::function<void()>& on_wait) {
  throw_if_stopped(stop_requested_);
  start();
  if (unfinished_move_) go_to(unfinished_move_->epoch, unfinished_move_->position);
  std::unique_lock lock(mutex_);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  if (!is_counted_) count_until_next(lock);
  if (delivered_ == stream_.num_batches(epoch_)) {
    ++epoch_;
    delivered_ = 0;
    if (!has_clock_) use_clock();
    if (options_.persistent_workers) {
      open_batches();
    } else {
      lock.unlock();
      stop_workers();
    }
    return std::nullopt;
  }
  open_batches();
  if (slots_.open().empty()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("all {} batches of the ring are held by the caller", options_.prefetch),
                {.hint = "let go of one before asking for the next, or raise prefetch"});
  }
  const OpenBatch batch = slots_.open().front();
  const auto attend = [&] {
    throw_if_stopped(stop_requested_);
    deliver_events();
    on_wait ? on_wait() : poll_remote_wait();
  };
  do {
    wait_until_complete(lock, batch, attend);
    read_large_fields(lock, batch);
  } while (!settle_failed_rows(batch));
  lock.unlock();
  deliver_events();  // the batch is still open, if this throws
  lock.lock();
  fields_.gather(ring_, batch.slot, ring_.slot(batch.slot).num_rows);
  Batch leased(std::make_unique<const Lease>(shared_from_this(), batch.slot));
  // The batch is no longer open and nothing below fails, so it is mixed once.
  slots_.take_oldest();
  ++delivered_;
  ++counters_.batches;
  const auto mask = ring_.mask(batch.slot).first(ring_.slot(batch.slot).num_rows);
  counters_.samples += static_cast<std::uint64_t>(std::count(mask.begin(), mask.end(), std::uint8_t{1}));
  const bool copies = copies_next();
  lock.unlock();
  mixer_.mix(leased, batch.slot, ring_.pixels(batch.slot));
  return copies ? copy_of(std::move(leased)) : std::move(leased);
}

/// Whether the batch that was just taken must be copied: the caller holds so many that the workers would
/// run out of slots. Requires mutex_.
bool Session::copies_next() const {
  if (!options_.copy_when_held) return false;
  const std::size_t num_slots = ring_.shape().num_slots;
  const std::size_t num_others_held = slots_.num_held() - 1;
  return num_others_held >= num_slots - std::min<std::size_t>(num_slots - 2, k_slots_of_workers);
}

/// Returns a copy and gives the slot back to the workers. If there is no memory for a copy, returns the slot itself.
Batch Session::copy_of(Batch leased) {
  try {
    Batch copied(std::make_unique<const BatchCopy>(*leased.view_));
    const std::lock_guard lock(mutex_);
    ++counters_.batches_copied;
    return copied;
  } catch (const std::bad_alloc&) {
    return leased;
  }
}

bool Session::ready() const {
  const std::lock_guard lock(mutex_);
  if (!workers_) return false;
  if (failure_ || delivered_ == stream_.num_batches(epoch_)) return true;
  if (slots_.open().empty() || !ring_.complete(slots_.open().front().slot, slots_.open().front().number)) return false;
  return options_.on_bad_sample == OnBadSample::skip || !has_failed_rows(slots_.open().front());
}

void Session::wait_until_complete(std::unique_lock<std::mutex>& lock, const OpenBatch& batch,
                                  const std::function<void()>& on_wait) {
  if (ring_.complete(batch.slot, batch.number)) return;
  const auto begin = std::chrono::steady_clock::now();
  double waited_s = 0;  // not counting the time for which this process was stopped
  lock.unlock();
  for (;;) {
    const std::uint32_t seen = ring_.completions();
    if (ring_.complete(batch.slot, batch.number)) break;
    on_wait();
    if (workers_ && workers_->attend()) continue;
    const auto asked = std::chrono::steady_clock::now();
    ring_.wait_for_completion(seen, k_wait_ms);
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - asked;
    waited_s += std::min(waited.count(), 2 * k_wait_ms / 1e3);
    if (options_.storage_timeout_s > 0 && waited_s > options_.storage_timeout_s) throw_storage_hangs(batch);
  }
  lock.lock();
  counters_.wait_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void Session::release(std::uint32_t slot) noexcept {
  const std::lock_guard lock(mutex_);
  slots_.free(slot);
  if (ended_) return;
  try {
    open_batches();
  } catch (...) {
    failure_ = std::current_exception();  // the next call of next() throws it
  }
}

/// No batch is opened until the caller resets closing_, not even when another thread destroys a Batch.
void Session::close_open_batches(std::unique_lock<std::mutex>& lock) {
  closing_ = true;
  for (const OpenBatch& batch : slots_.open()) ring_.close(batch.slot, batch.number);
  while (!slots_.open().empty()) {
    const OpenBatch batch = slots_.open().front();
    wait_until_complete(lock, batch, poll_remote_wait);
    slots_.take_oldest();
    slots_.free(batch.slot);
  }
  faults_.forget_attempts();
  failure_ = nullptr;
}

void Session::set_epoch(std::uint64_t epoch) {
  throw_if_in_next("set_epoch()");
  go_to(epoch, 0);
}

void Session::go_to(std::uint64_t epoch, std::uint64_t position) {
  if (!unfinished_move_ && epoch == epoch_ && position == state().position) return;  // keep the batches made ahead
  BatchStream stream(stream_.order(), share_of(options_), epoch, position);
  std::unique_lock lock(mutex_);
  unfinished_move_ = Move{epoch, position};
  close_open_batches(lock);
  stream_ = std::move(stream);
  epoch_ = epoch;
  delivered_ = 0;
  next_to_open_ = 0;
  slots_.forget_rows();
  closing_ = false;
  unfinished_move_.reset();
  if (!workers_) return;
  start_read_ahead();
  open_batches();
}

LoaderState Session::state() const {
  LoaderState state{.epoch = epoch_,
                    .position = stream_.position_after(epoch_, delivered_),
                    .fingerprint = fingerprint_,
                    .dataset = identity_};
  if (stream_.order().parts()) {
    mark_nodes(state, stream_.order(), delivered_ == stream_.num_batches(epoch_));
  }
  if (identity_ == 0) state.shards = shards_before(epoch_, state.position);
  if (state.shards != 0) state.content = content_of(state.shards);
  return state;
}

void Session::load_state(const LoaderState& state) {
  throw_if_in_next("load_state()");
  if (state.fingerprint != fingerprint_ && !is_other_fingerprint(state.fingerprint)) {
    if (state.dataset != 0 && identity_ != 0 && state.dataset != identity_) {
      throw Error(other_version_error(spec_, state.dataset, identity_, counted_epoch(state.epoch)));
    }
    throw Error(ErrorCode::invalid_argument,
                "the state is of another dataset, selection, shuffle or seed than this loader's",
                {.hint = "open the same packed dataset with the options that the state was saved under"});
  }
  if (state.shards != 0 && (state.shards > dataset_.num_shards() || content_of(state.shards) != state.content)) {
    throw Error(ErrorCode::invalid_argument, "the shards have other samples than those that the state saw",
                {.path = spec_,
                 .hint = "open the shards that the state was saved with, or begin an epoch of these with set_epoch()"});
  }
  if (stream_.order().parts()) check_nodes(state, stream_.order());
  go_to(state.epoch, state.position);
}

LoaderCounters Session::counters() const {
  const std::lock_guard lock(mutex_);
  LoaderCounters counters = counters_;
  counters.bad_samples = faults_.bad_samples().size();
  counters.workers_replaced = replaced_by_earlier_pools_ + (workers_ ? workers_->num_replaced() : 0);
  return counters;
}

std::vector<int> Session::worker_pids() const { return workers_ ? workers_->pids() : std::vector<int>(); }

std::vector<BadSample> Session::bad_samples() const {
  const std::lock_guard lock(mutex_);
  return faults_.bad_samples();
}

}  // namespace bale::loader_detail
