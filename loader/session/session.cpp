#include "bale/loader/session/session.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/data_error.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/system/cores.hpp"
#include "bale/formats/shard/index/index_memory.hpp"
#include "bale/loader/batch/batch_copy.hpp"
#include "bale/loader/fields/field_layout.hpp"
#include "bale/loader/nodes/node_local.hpp"
#include "bale/loader/ring/shared_memory.hpp"
#include "bale/loader/session/session_counting.hpp"
#include "bale/loader/worker/process/worker_program.hpp"
#include "bale/reader/order/node_share.hpp"
#include "bale/reader/seek_points_named.hpp"

namespace bale::loader_detail {
namespace {

constexpr std::uint32_t k_slots_of_workers = 2;  // reserved for the workers, even if the caller keeps many batches
constexpr std::uint32_t k_min_slots = 3;         // a loop holds one batch while it asks for the next
constexpr std::uint32_t k_rows_per_worker = 2;   // that it may read at the same time
constexpr int k_wait_ms = 50;                    // limits each wait: a worker may die before it announces a completion

/// Where relative paths of shards start; empty if there are none.
std::string directory_of(const std::vector<std::string>& shards) {
  const auto is_relative = [](const std::string& path) {
    return !path.starts_with('/') && remote_storage_of(path) == nullptr;
  };
  if (std::none_of(shards.begin(), shards.end(), is_relative)) return {};
  std::string path(4096, '\0');
  return ::getcwd(path.data(), path.size()) != nullptr ? std::string(path.c_str()) : std::string();
}

bool has_programs(const LoaderOptions& options) {
  return options.workers > 0 && options.worker_mode == WorkerMode::processes;
}

std::shared_ptr<IndexMemory> make_index_memory(const LoaderOptions& options) {
  const int fd = has_programs(options) ? memory_descriptor("bale indexes") : -1;
  return fd < 0 ? nullptr : std::make_shared<IndexMemory>(fd);
}

Dataset open_dataset(const std::string& spec, const LoaderOptions& options, std::shared_ptr<IndexMemory> index_memory,
                     bool has_selection) {
  const bool counts_later = !has_selection && can_count_later(options);
  Dataset dataset = Dataset::open(spec, {.verify_checksums = options.verify_checksums,
                                         .direct_io = options.direct_io,
                                         .index_memory = std::move(index_memory),
                                         .counting = counts_later ? Counting::while_read : Counting::when_opened});
  dataset.count_beyond(0);  // so that a dataset that cannot be read is an error here
  require_image_and_label(dataset, options);
  return dataset;
}

bool is_all_counted(const Dataset& dataset) { return dataset.num_counted_shards() == dataset.num_shards(); }

EpochOrder make_order(const Dataset& dataset, const LoaderOptions& options, std::optional<Selection> selection) {
  const std::uint64_t size = is_all_counted(dataset) ? dataset.size() : k_uncounted;
  Selection chosen = selection ? *std::move(selection) : Selection::all(size);
  if (options.shuffle.kind == Shuffle::Kind::node_local) return node_local_order(dataset, options, chosen);
  return EpochOrder(std::move(chosen), options.shuffle, options.seed);
}

bool any_may_have_seek_points(const Dataset& dataset) {
  for (std::size_t shard = 0; shard < dataset.num_shards(); ++shard) {
    if (may_have_seek_points(dataset, shard)) return true;
  }
  return false;
}

WorkerConfig config_of(const Dataset& dataset, const LoaderOptions& options, const FieldLayout& fields) {
  WorkerConfig config{.options = options, .field_rooms = fields.rooms()};
  config.options.fields = fields.fields();
  config.may_have_seek_points = any_may_have_seek_points(dataset);
  if (is_all_counted(dataset)) config.num_samples = dataset.size();  // for the cache of seek points
  for (std::size_t shard = 0; shard < dataset.num_shards(); ++shard) {
    config.shards.push_back(dataset.shard_path(shard));
    config.digests.push_back(dataset.expected_digest(shard));
  }
  config.directory = directory_of(config.shards);
  return config;
}

/// The most times that one batch can contain the same sample. Padding repeats the epoch, several times if a step of all
/// ranks is longer than the epoch.
std::uint64_t max_deliveries(const Dataset& dataset, const LoaderOptions& options,
                             const std::optional<Selection>& selection) {
  const std::uint64_t in_epoch = selection ? selection->max_deliveries() : 1;
  if (!is_all_counted(dataset)) return in_epoch;  // rows of a fixed size, whichever samples they are
  if (options.tail != Tail::pad) return in_epoch;
  const std::uint64_t num_deliveries = std::max<std::uint64_t>(selection ? selection->size() : dataset.size(), 1);
  const std::uint64_t step = std::uint64_t{options.batch_size} * options.world_size;
  return in_epoch * (2 + step / num_deliveries);
}

}  // namespace

Session::Session(const std::string& spec, LoaderOptions options, std::optional<Selection> selection)
    : options_(checked(std::move(options))),
      index_memory_(make_index_memory(options_)),
      dataset_(open_dataset(spec, options_, index_memory_, selection.has_value())),
      is_counted_(is_all_counted(dataset_)),
      layout_(dataset_, options_, max_deliveries(dataset_, options_, selection)),
      fields_(dataset_, FieldLayout(dataset_, options_, max_deliveries(dataset_, options_, selection)),
              options_.batch_size),
      stream_(make_order(dataset_, options_, std::move(selection)), share_of(options_), 0, 0),
      fingerprint_(is_counted_ ? stream_.order().fingerprint(dataset_.size(), dataset_.identity())
                               : fingerprint_of_names(dataset_, options_)),
      config_(config_of(dataset_, options_, fields_.layout())),
      shard_of_([this](std::uint32_t shard, const ShardIdentity& known) { return dataset_.use_shard(shard, known); }),
      ring_(make_ring()),
      mixer_(options_, ring_.shape().num_slots) {
  for (std::uint32_t slot = ring_.shape().num_slots; slot > 0; --slot) free_slots_.push_back(slot - 1);
}

Session::~Session() { stop_workers(); }

Ring Session::make_ring() {
  const std::vector<std::byte> config = pack_config(config_);
  const std::uint32_t num_slots =
      options_.copy_when_held ? std::max(options_.prefetch, k_min_slots) : options_.prefetch;
  Ring ring =
      Ring::create({.num_slots = num_slots,
                    .batch_size = options_.batch_size,
                    .pixel_bytes = layout_.batch_bytes(),
                    .field_bytes = fields_.places().total_bytes(),
                    .config_bytes = config.size(),
                    .kept_bytes = SeekPointCache::bytes_for(config_.num_samples, options_.seek_point_cache_bytes)},
                   has_programs(options_) ? SharedMemory::With::programs : SharedMemory::With::children);
  std::copy(config.begin(), config.end(), ring.config().begin());
  return ring;
}

/// Reads ahead from where the workers are. Requires mutex_.
void Session::start_read_ahead() {
  read_ahead_.reset();
  if (options_.read_ahead_bytes == 0 || options_.direct_io) return;
  read_ahead_ = std::make_unique<ReadAhead>(
      dataset_,
      [this, stream = stream_, is_counted = is_counted_](std::uint64_t n) -> std::optional<UpcomingSample> {
        BatchPlace place;
        if (!is_counted && !is_ready(dataset_, stream, n)) return std::nullopt;
        const auto row = stream.nth_row(n, place);
        if (!row) return std::nullopt;
        const std::uint64_t position = row->planned.position;
        return UpcomingSample{row->pick.sample, stream.order().window(place.epoch, position), place.epoch, position};
      },
      ReadAheadOptions{.window_bytes = options_.read_ahead_bytes,
                       .large_transfers = options_.large_transfers,
                       .clock = has_clock_ ? std::optional(UseClock(stream_.order(), fingerprint_)) : std::nullopt,
                       .wants_seek_points = options_.transform.shape != Transform::Shape::raw,
                       .readers = local_ranks(share_of(options_)).count,
                       .in_flight = std::uint64_t{k_rows_per_worker} * std::max(options_.workers, 1u),
                       .is_needed = needed_on_node(),
                       .begin = rows_consumed(),
                       .first_samples = options_.batch_size,
                       .progress = [this]() -> std::optional<std::uint64_t> {
                         const std::unique_lock lock(mutex_, std::try_to_lock);  // whoever holds it may end this thread
                         return lock ? std::optional(rows_consumed()) : std::nullopt;
                       }});
}

/// Only a full or node-local shuffle needs samples one by one: other orders read neighbors together, or draw.
std::function<bool(std::uint64_t, std::uint64_t)> Session::needed_on_node() const {
  const EpochOrder& order = stream_.order();
  const Shuffle::Kind kind = order.shuffle().kind;
  if (!is_counted_ || order.selection().draws()) return {};
  if (kind != Shuffle::Kind::full && kind != Shuffle::Kind::node_local) return {};
  const RankShare share = share_of(options_);
  return [node = NodeShare(order, share, ranks_of_node(order, share), stream_.first_epoch(), stream_.first_position())](
             std::uint64_t sample, std::uint64_t epoch) { return node.has(sample, epoch); };
}

/// How far the workers have come. Requires mutex_.
std::uint64_t Session::rows_consumed() const {
  std::uint64_t rows = rows_passed_;
  for (const OpenBatch& batch : open_) rows += ring_.num_claimed(batch.slot);
  return rows;
}

/// Requires mutex_.
void Session::tell_read_ahead() {
  if (read_ahead_) read_ahead_->consumed(rows_consumed());
}

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
  tell_read_ahead();
  while (!free_slots_.empty() && !ended_ && !closing_) {
    if (options_.workers == 0 && !open_.empty()) return;  // next() fills one batch at a time
    const auto place = stream_.place(next_to_open_);
    if (!place || (!options_.prefetch_next_epoch && place->epoch != epoch_)) return;
    if (!is_counted_ && !may_open(*place)) return;
    open_batch(free_slots_.back(), *place);
    free_slots_.pop_back();
    ++next_to_open_;
  }
}

void Session::open_batch(std::uint32_t slot, const BatchPlace& place) {
  const std::uint64_t number = batches_opened_;
  const auto num_rows = static_cast<std::uint32_t>(stream_.num_rows(place));
  ring_.slot(slot).epoch = place.epoch;
  ring_.slot(slot).index = place.index;
  std::uint64_t used_bytes = 0;
  fields_.begin_batch(ring_, slot);
  for (std::uint32_t i = 0; i < num_rows; ++i) {
    const StreamRow row = stream_.row(place, i);
    ring_.mask(slot)[i] = row.planned.kind == PlannedRow::Kind::sample ? 1 : 0;
    if (row.planned.kind == PlannedRow::Kind::empty) {
      Row& asked = ring_.row(slot, i);
      asked.copy = 0;
      asked.offset = used_bytes;
      asked.capacity = options_.transform.image_bytes();
      used_bytes += asked.capacity;
      ring_.prepare_row(slot, i, number, RowPhase::done);
      ring_.samples(slot)[i] = 0;
      empty_row(slot, i);
    } else {
      place_fields(slot, i, row.pick);
      ask_row(slot, i, number, row.pick, used_bytes);
    }
  }
  open_.push_back({.number = number, .slot = slot, .place = place});
  ring_.set_oldest(open_.front().number);
  ring_.publish(slot, number, num_rows);
  ++batches_opened_;
}

void Session::ask_row(std::uint32_t slot, std::uint32_t row, std::uint64_t batch, const Pick& pick,
                      std::uint64_t& used_bytes) {
  const auto [shard, sample_in_shard] = dataset_.position(pick.sample);
  Row& asked = ring_.row(slot, row);
  asked.sample = pick.sample;
  asked.copy = pick.copy;
  asked.shard = static_cast<std::uint32_t>(shard);
  asked.sample_in_shard = sample_in_shard;
  asked.offset = used_bytes;
  ring_.samples(slot)[row] = pick.sample;
  std::string error = faults_.is_quarantined(pick.sample) ? "blocked: this sample crashed a worker earlier" : "";
  ErrorCode code = ErrorCode::damaged;
  try {
    asked.capacity = layout_.row_bytes(shard, sample_in_shard);
    const std::int64_t label =
        options_.label_field.empty() ? dataset_.label_in_shard(shard, sample_in_shard) : k_no_label;
    ring_.labels(slot)[row] = label == k_no_label ? options_.no_label : label;
    asked.identity = dataset_.shard_identity(shard);
  } catch (const Error& caught) {  // if a shard is damaged, its samples fail, not the stream
    if (!is_data_error(caught)) throw;
    error = caught.what();
    code = caught.code();
    asked.capacity = options_.transform.image_bytes();
    ring_.labels(slot)[row] = options_.no_label;
  }
  used_bytes += asked.capacity;
  ring_.prepare_row(slot, row, batch, error.empty() ? RowPhase::free : RowPhase::failed);
  set_error(asked, error, code);
}

/// Gives the fields of a row their places. If the index is damaged, they have no room, and the row fails.
void Session::place_fields(std::uint32_t slot, std::uint32_t row, const Pick& pick) {
  if (fields_.empty()) return;
  const auto [shard, sample_in_shard] = dataset_.position(pick.sample);
  try {
    fields_.place_row(ring_, slot, row, shard, sample_in_shard);
  } catch (const Error& caught) {
    if (!is_data_error(caught)) throw;
  }
}

/// Makes a row without a sample: zeros, no label, mask 0.
void Session::empty_row(std::uint32_t slot, std::uint32_t row) {
  Row& emptied = ring_.row(slot, row);
  emptied.bytes = 0;
  emptied.encoded = {};
  emptied.source_width = 0;
  emptied.source_height = 0;
  ring_.mask(slot)[row] = 0;
  ring_.labels(slot)[row] = options_.no_label;
  fields_.empty_row(ring_, slot, row);
  if (options_.transform.has_fixed_shape()) {
    const MutableBytes pixels = ring_.pixels(slot).subspan(emptied.offset, emptied.capacity);
    std::fill(pixels.begin(), pixels.end(), std::byte{0});
    for (std::size_t view = 0; view < layout_.views().num_further(); ++view) {
      const MutableBytes place = layout_.views().row(ring_.pixels(slot), view, row);
      std::fill(place.begin(), place.end(), std::byte{0});
    }
  }
}

std::optional<Batch> Session::next(const std::function<void()>& on_wait) {
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
  if (open_.empty()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("all {} batches of the ring are held by the caller", options_.prefetch),
                {.hint = "let go of one before asking for the next, or raise prefetch"});
  }
  const OpenBatch batch = open_.front();
  do {
    wait_until_complete(lock, batch, on_wait);
    read_large_fields(lock, batch);
  } while (!settle_failed_rows(batch));
  fields_.gather(ring_, batch.slot, ring_.slot(batch.slot).num_rows);
  Batch leased(std::make_unique<const Lease>(shared_from_this(), batch.slot));
  // The batch leaves open_ and nothing below fails, so it is mixed once.
  open_.pop_front();
  rows_passed_ += ring_.slot(batch.slot).num_rows;
  ring_.set_oldest(open_.empty() ? batches_opened_ : open_.front().number);
  ++delivered_;
  ++counters_.batches;
  const auto mask = ring_.mask(batch.slot).first(ring_.slot(batch.slot).num_rows);
  counters_.samples += static_cast<std::uint64_t>(std::count(mask.begin(), mask.end(), std::uint8_t{1}));
  const bool copies = copies_next();
  lock.unlock();
  mixer_.mix(leased, batch.slot, ring_.pixels(batch.slot));
  return copies ? copy_of(std::move(leased)) : std::move(leased);
}

/// Whether the batch that was just removed from open_ must be copied: the caller holds so many that the workers would
/// run out of slots. Requires mutex_.
bool Session::copies_next() const {
  if (!options_.copy_when_held) return false;
  const std::size_t num_slots = ring_.shape().num_slots;
  const std::size_t num_held = num_slots - free_slots_.size() - open_.size() - 1;  // not counting this one
  return num_held >= num_slots - std::min<std::size_t>(num_slots - 2, k_slots_of_workers);
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
  if (open_.empty() || !ring_.complete(open_.front().slot, open_.front().number)) return false;
  return options_.on_bad_sample == OnBadSample::skip || !has_failed_rows(open_.front());
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
    if (on_wait) {
      on_wait();
    } else {
      poll_remote_wait();
    }
    if (workers_ && workers_->attend()) continue;
    const auto asked = std::chrono::steady_clock::now();
    ring_.wait_for_completion(seen, k_wait_ms);
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - asked;
    waited_s += std::min(waited.count(), 2 * k_wait_ms / 1e3);
    if (options_.storage_timeout_s > 0 && waited_s > options_.storage_timeout_s) tell_standstill(batch);
  }
  lock.lock();
  counters_.wait_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void Session::release(std::uint32_t slot) noexcept {
  const std::lock_guard lock(mutex_);
  free_slots_.push_back(slot);
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
  for (const OpenBatch& batch : open_) ring_.close(batch.slot, batch.number);
  while (!open_.empty()) {
    const OpenBatch batch = open_.front();
    wait_until_complete(lock, batch, {});
    free_slots_.push_back(batch.slot);
    open_.pop_front();
  }
  ring_.set_oldest(batches_opened_);
  faults_.forget_attempts();
  failure_ = nullptr;
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
  closing_ = false;
  unfinished_move_.reset();
  if (!workers_) return;
  rows_passed_ = 0;
  start_read_ahead();
  open_batches();
}

LoaderState Session::state() const {
  LoaderState state{
      .epoch = epoch_, .position = stream_.position_after(epoch_, delivered_), .fingerprint = fingerprint_};
  if (stream_.order().parts()) {
    mark_nodes(state, stream_.order(), delivered_ == stream_.num_batches(epoch_));
  }
  return state;
}

void Session::load_state(const LoaderState& state) {
  if (state.fingerprint != fingerprint_ && !is_other_fingerprint(state.fingerprint)) {
    throw Error(ErrorCode::invalid_argument,
                "the state is of another dataset, selection, shuffle or seed than this loader's",
                {.hint = "open the same packed dataset with the options that the state was saved under"});
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
