// Session: how it handles bad samples and workers that died.
#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/loader/session/session.hpp"
#include "bale/loader/transform/draw/list_drawer.hpp"
#include "bale/reader/spec/shard_place.hpp"

namespace bale::loader_detail {
namespace {

// One crash may be the machine's fault; a second one on the same sample is the sample's. Kills from outside count too,
// because the kernel kills a worker whose sample takes all memory.
constexpr std::uint32_t k_max_kills = 2;
constexpr std::uint32_t k_max_interruptions = 8;
constexpr std::uint32_t k_max_substitutes = 64;
constexpr std::uint64_t k_substitute_tag = 0x5355'4253;  // separates these draws from all others

bool is_failed(const Row& row) {
  return Ring::phase_of(row.state.load()) == static_cast<std::uint32_t>(RowPhase::failed);
}

Error with_advice(const Error& error, const std::string& advice) {
  ErrorContext context = error.context();
  context.hint += (context.hint.empty() ? "" : "; ") + advice;
  return {error.code(), error.message(), std::move(context)};
}

}  // namespace

Error Session::error_of_row(const Row& row) const {
  Error error = error_of(row, key_of(row), dataset_.shard_path(row.shard));
  if (error.code() != ErrorCode::not_found || !dataset_.manifest()) return error;
  try {
    require_kept(dataset_.shard_path(row.shard), *dataset_.manifest());
  } catch (const Error& gone) {
    return gone;
  }
  return error;
}

/// Empty if the shard, and so the key, cannot be read.
std::string Session::key_of(const Row& row) const {
  try {
    return dataset_.key(row.sample);
  } catch (const Error&) {
    return "";
  }
}

BadSample Session::describe(const OpenBatch& batch, std::uint32_t row, BadSample::Action action) const {
  const Row& bad = ring_.row(batch.slot, row);
  return {.sample = bad.sample,
          .key = key_of(bad),
          .shard = dataset_.shard_path(bad.shard),
          .reason = error_of_row(bad).what(),
          .epoch = batch.place.epoch,
          .action = action,
          .quarantined = faults_.is_quarantined(bad.sample)};
}

/// Requires mutex_.
void Session::report(BadSample bad) {
  LoaderEvent event{.kind = LoaderEvent::Kind::bad_sample, .reason = bad.reason, .sample = bad.sample, .key = bad.key};
  if (faults_.report(std::move(bad))) note(std::move(event));
}

/// Requires mutex_.
void Session::note(LoaderEvent event) {
  if (!options_.on_event) return;
  events_.push_back(std::move(event));
  has_events_ = true;
}

/// Takes what workers tell of requests that are made again.
void Session::note_retries() {
  for (std::uint32_t number = 0; number < options_.workers; ++number) {
    std::string told = ring_.take_retry(number);
    if (!told.empty()) retries_.push_back({.kind = LoaderEvent::Kind::storage_retried, .reason = std::move(told)});
  }
}

/// Calls on_event for what was noted. Not with mutex_: it may call the Loader.
void Session::deliver_events() {
  if (!options_.on_event) return;
  note_retries();
  if (!has_events_ && retries_.empty()) return;
  std::vector<LoaderEvent> events = std::exchange(retries_, {});
  {
    const std::lock_guard lock(mutex_);
    std::move(events_.begin(), events_.end(), std::back_inserter(events));
    events_.clear();
    has_events_ = false;
  }
  for (const LoaderEvent& event : events) options_.on_event(event);
}

bool Session::has_failed_rows(const OpenBatch& batch) const {
  for (std::uint32_t i = 0; i < ring_.slot(batch.slot).num_rows; ++i) {
    if (is_failed(ring_.row(batch.slot, i))) return true;
  }
  return false;
}

/// If rows failed by no fault of their samples, offers them to workers again, for the next call, and throws the error
/// of the first one. Requires mutex_.
void Session::throw_failure(const OpenBatch& batch) {
  std::optional<Error> first;
  std::uint32_t asked_again = 0;
  for (std::uint32_t i = 0; i < ring_.slot(batch.slot).num_rows; ++i) {
    Row& row = ring_.row(batch.slot, i);
    if (!is_failed(row) || !row.is_failure) continue;
    if (!first) first = error_of_row(row);
    row.state.store(Ring::row_state(batch.number, static_cast<std::uint32_t>(RowPhase::free)));
    ++asked_again;
  }
  if (!first) return;
  ring_.slot(batch.slot).left.store(asked_again);
  ring_.reoffer(batch.slot, batch.number);
  throw Error(*first);
}

/// A delivery at random; of a mixture, of a sample of the same source.
Pick Session::substitute_of(const Row& row, std::uint64_t epoch, KeyedRandom& random) const {
  const EpochOrder& order = stream_.order();
  const Mixture* const mixture = order.selection().mixture();
  if (mixture == nullptr) return order.at(epoch, random.below(order.size()));
  const std::uint64_t first = mixture->first_of(row.source);
  return {.sample = first + random.below(mixture->size_of(row.source)),
          .source = row.source,
          .first = first,
          .pass = counted_epoch(row.key.epoch)};
}

/// Applies on_bad_sample to the failed rows of a complete batch. Returns false if workers must fill some rows again.
/// Requires mutex_.
bool Session::settle_failed_rows(const OpenBatch& batch) {
  throw_failure(batch);
  std::uint32_t asked_again = 0;
  for (std::uint32_t i = 0; i < ring_.slot(batch.slot).num_rows; ++i) {
    Row& row = ring_.row(batch.slot, i);
    if (!is_failed(row)) continue;
    if (options_.on_bad_sample == OnBadSample::fail) {
      const BadSample bad = describe(batch, i, BadSample::Action::failed);
      if (faults_.is_first_failure(batch.number)) report(bad);
      throw with_advice(
          error_of_row(row),
          fmt::format("to continue without sample {}, set on_bad_sample to skip or substitute", bad.sample));
    }
    if (options_.on_bad_sample == OnBadSample::skip) {
      report(describe(batch, i, BadSample::Action::skipped));
      rows_.empty(batch.slot, i);
      row.state.store(Ring::row_state(batch.number, static_cast<std::uint32_t>(RowPhase::done)));
      continue;
    }
    const std::uint32_t attempts = faults_.next_attempt(batch.number, i);
    if (attempts == 1) report(describe(batch, i, BadSample::Action::substituted));
    if (attempts > k_max_substitutes) {
      const Error last = error_of_row(row);
      throw Error(last.code(), fmt::format("{} samples in a row are bad; the last one: {}", attempts, last.message()),
                  last.context());
    }
    KeyedRandom random{options_.seed, row.key.epoch, row.sample, row.key.copy, k_substitute_tag};
    Pick pick = substitute_of(row, batch.place.epoch, random);
    pick.copy = k_substitute_tag + attempts;  // so that it differs from the sample's own delivery
    const std::uint64_t room = row.capacity;
    rows_.ask(batch.slot, i, batch.number, pick, row.offset, faults_.is_quarantined(pick.sample));
    if (row.capacity > room) row.capacity = room;  // without a fixed shape, a larger sample does not fit
    ++asked_again;
  }
  if (asked_again == 0) {
    faults_.forget_attempts(batch.number);
    return true;
  }
  ring_.slot(batch.slot).left.store(asked_again);
  ring_.reoffer(batch.slot, batch.number);
  return false;
}

void Session::settle_undecodable(const Batch& batch, std::uint32_t number, const Error& why) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t slot = slot_of(batch);
  Row& row = ring_.row(slot, number);
  set_error(row, Error(why.code(), why.message(), {.path = dataset_.shard_path(row.shard), .key = key_of(row)}),
            FaultOf::sample);
  const OpenBatch delivered{.number = Ring::batch_of(row.state.load()),
                            .slot = slot,
                            .place = {.epoch = batch.epoch(), .index = batch.index()}};
  if (options_.on_bad_sample != OnBadSample::skip) {
    const BadSample bad = describe(delivered, number, BadSample::Action::failed);
    if (faults_.is_first_failure(delivered.number)) report(bad);
    throw with_advice(error_of_row(row),
                      fmt::format("to continue without sample {}, set on_bad_sample to skip", bad.sample));
  }
  report(describe(delivered, number, BadSample::Action::skipped));
  rows_.empty(slot, number);
}

/// Reads the fields that do not fit in the slot, without the lock: reading may wait for the storage. A row whose field
/// cannot be read fails.
void Session::read_large_fields(std::unique_lock<std::mutex>& lock, const OpenBatch& batch) {
  if (fields_.empty()) return;
  lock.unlock();
  Steps steps;
  const auto image = [&](const Row& row, std::uint32_t view) -> transform_detail::ImageSteps {
    DrawKey key = row.key;
    key.view = view;
    const Transform& transform = options_.view(view, row.source);
    steps = transform_detail::draw_again(transform, key, row.source_width, row.source_height, row.iou_crop);
    return {.size = {row.source_width, row.source_height}, .steps = steps};
  };
  for (std::uint32_t i = 0; i < ring_.slot(batch.slot).num_rows; ++i) {
    Row& row = ring_.row(batch.slot, i);
    if (Ring::phase_of(row.state.load()) != static_cast<std::uint32_t>(RowPhase::done)) continue;
    try {
      fields_.read_large_fields(ring_, batch.slot, i, image);
    } catch (const Error& error) {
      if (!is_data_error(error)) throw;
      set_error(row, error, FaultOf::sample);
      row.state.store(Ring::row_state(batch.number, static_cast<std::uint32_t>(RowPhase::failed)));
    }
  }
  lock.lock();
}

/// Throws if the batch is incomplete because the storage does not answer or no worker has started. Workers continue,
/// and the next call of next() waits again.
void Session::throw_storage_hangs(const OpenBatch& batch) const {
  constexpr const char* k_hint = "check the storage; call next() again to keep waiting";
  const std::string wait = fmt::format("{:g} s", options_.storage_timeout_s);
  for (std::uint32_t i = 0; i < ring_.slot(batch.slot).num_rows; ++i) {
    const Row& row = ring_.row(batch.slot, i);
    const std::uint64_t state = row.state.load();
    constexpr auto k_claimed = static_cast<std::uint32_t>(RowPhase::claimed);
    if (Ring::batch_of(state) != batch.number || Ring::phase_of(state) < k_claimed) continue;
    if (ring_.worker(Ring::phase_of(state) - k_claimed).reading.load() == 0) continue;
    throw Error(ErrorCode::retryable, fmt::format("no data for this sample after {}", wait),
                {.path = dataset_.shard_path(row.shard), .key = key_of(row), .hint = k_hint});
  }
  if (!program_) return;
  for (std::uint32_t number = 0; number < options_.workers; ++number) {
    if (ring_.worker(number).seen_ns.load() != 0) return;
  }
  throw Error(ErrorCode::retryable, fmt::format("no worker has started in {}", wait),
              {.path = program_->path(), .hint = k_hint});
}

void Session::on_worker_end(const WorkerEnd& end) {
  const std::lock_guard lock(mutex_);
  note({.kind = LoaderEvent::Kind::worker_replaced, .reason = fmt::format("a worker {}", end.cause)});
  for (const OpenBatch& batch : slots_.open()) {
    for (std::uint32_t i = 0; i < ring_.slot(batch.slot).num_rows; ++i) recover_row(batch, i, end);
    // Also for a row whose ticket the worker had drawn but not used: it is free, but the slot's counter is past it.
    ring_.reoffer(batch.slot, batch.number);
  }
  ring_.announce_completion();
}

/// Takes a row away from a worker that ended.
void Session::recover_row(const OpenBatch& batch, std::uint32_t i, const WorkerEnd& end) {
  Row& row = ring_.row(batch.slot, i);
  const std::uint32_t claimed = static_cast<std::uint32_t>(RowPhase::claimed) + end.worker;
  if (row.state.load() != Ring::row_state(batch.number, claimed)) return;
  const auto set_phase = [&](RowPhase phase) {
    row.state.store(Ring::row_state(batch.number, static_cast<std::uint32_t>(phase)));
  };
  if (closing_) {
    return set_phase(RowPhase::dropped);
  }
  if (end.fault == WorkerEnd::Fault::own) ++row.kills;
  if (end.fault == WorkerEnd::Fault::outside) ++row.interruptions;
  if (row.kills < k_max_kills && row.interruptions < k_max_interruptions) {
    note({.kind = LoaderEvent::Kind::sample_retried,
          .reason = fmt::format("a worker {} on this sample", end.cause),
          .sample = row.sample,
          .key = options_.on_event ? key_of(row) : ""});
    return set_phase(RowPhase::free);
  }
  faults_.quarantine(row.sample);
  set_error(row,
            Error(ErrorCode::damaged, fmt::format("a worker {} on this sample again", end.cause),
                  {.path = dataset_.shard_path(row.shard), .key = key_of(row)}),
            FaultOf::sample);
  set_phase(RowPhase::failed);
}

}  // namespace bale::loader_detail
