#include "bale/loader/session/session.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "bale/loader/nodes/node_local.hpp"

namespace bale::loader_detail {

namespace {

bool begins_in_stored_order(const Shuffle& shuffle) {
  return shuffle.kind == Shuffle::Kind::none || shuffle.kind == Shuffle::Kind::stream;
}

}  // namespace

bool can_count_later(const LoaderOptions& options) {
  const auto has_fixed_shape = [](const Transform& view) { return view.has_fixed_shape(); };
  return begins_in_stored_order(options.shuffle) && has_fixed_shape(options.transform) &&
         std::all_of(options.further_views.begin(), options.further_views.end(), has_fixed_shape) &&
         options.fields.empty() && options.label_field.empty() && options.seek_point_cache_bytes == 0 &&
         options.on_bad_sample != OnBadSample::substitute;
}

std::uint64_t fingerprint_of_names(const Dataset& dataset, const LoaderOptions& options) {
  return EpochOrder(Selection::all(k_uncounted), options.shuffle, options.seed)
      .fingerprint(k_uncounted, dataset.identity_of_names());
}

bool is_ready(const Dataset& dataset, const BatchStream& stream, std::uint64_t n) {
  BatchPlace place;
  const auto row = stream.nth_row(n, place);
  if (!row) return false;
  const auto samples = stream.order().samples_for(place.epoch, row->planned.position + 1);
  try {
    return samples && dataset.count_ready(*samples - 1) >= *samples;
  } catch (const std::exception&) {
    return false;
  }
}

bool Session::is_counted() const {
  const std::lock_guard lock(mutex_);
  return is_counted_;
}

std::uint64_t Session::num_batches() {
  if (!is_counted()) {
    dataset_.size();
    const std::lock_guard lock(mutex_);
    if (!is_counted_) use_counts();
  }
  return stream_.num_batches(epoch_);
}

/// How many samples must be counted before the batch can be opened, for all ranks alike; nullopt: all.
std::optional<std::uint64_t> Session::samples_for(const BatchPlace& place) const {
  return stream_.order().samples_for(place.epoch, stream_.position_after(place.epoch, place.index + 1));
}

/// Whether the samples of the batch are counted. Does not wait. Requires mutex_.
bool Session::may_open(const BatchPlace& place) const {
  const auto samples = samples_for(place);
  return samples && dataset_.count_ready(*samples - 1) >= *samples;
}

/// Counts until the next batch can be opened, or all shards are counted. Others may release batches in the meantime.
void Session::count_until_next(std::unique_lock<std::mutex>& lock) {
  for (;;) {
    open_batches();
    if (dataset_.num_counted_shards() == dataset_.num_shards()) return use_counts();
    if (!slots_.open().empty() || !slots_.has_free()) return;
    const auto samples = samples_for(*stream_.place(next_to_open_));
    lock.unlock();
    samples ? dataset_.count_beyond(*samples - 1) : dataset_.size();
    lock.lock();
  }
}

/// Goes on with the order of all samples, which are counted. Only in the thread that uses the Loader, which reads
/// stream_ without the lock. Requires mutex_.
void Session::use_counts() {
  const EpochOrder& order = stream_.order();
  BatchStream stream(EpochOrder(Selection::all(dataset_.size()), order.shuffle(), order.seed()), share_of(options_),
                     stream_.first_epoch(), stream_.first_position());
  stream_ = std::move(stream);
  is_counted_ = true;
  if (read_ahead_) start_read_ahead();
}

/// Not before the end of the epoch in which the counts became known: until the pace of the clock is measured, content
/// that is used soon would seem to be used late, and what was fetched with whole shards would be removed before it is
/// read. Requires mutex_.
void Session::use_clock() {
  has_clock_ = true;
  if (read_ahead_) start_read_ahead();
}

/// How many shards have the samples before a position; 0 if they are not counted. Does not wait.
std::uint64_t Session::shards_before(std::uint64_t epoch, std::uint64_t position) const {
  if (position == 0) return 0;
  const auto samples = stream_.order().samples_for(epoch, position);
  if (samples && dataset_.count_ready(*samples - 1) >= *samples) return dataset_.position(*samples - 1).first + 1;
  return dataset_.num_counted_shards() == dataset_.num_shards() ? dataset_.num_shards() : 0;
}

/// Precondition: num_shards is at least 1. Only in the thread that uses the Loader.
std::uint64_t Session::content_of(std::size_t num_shards) const {
  while (contents_.size() < num_shards) {
    content_.add(*dataset_.use_index(contents_.size()));
    contents_.push_back(content_.value() >> 1);
  }
  return contents_[num_shards - 1];
}

/// States of other versions, or from before an index was made. Up to version 0.1.0, a state identified its dataset only
/// by the number of samples. Shards that had no index when the state was saved were identified by their samples, or by
/// their names.
bool Session::is_other_fingerprint(std::uint64_t fingerprint) const {
  const Selection all = Selection::all(dataset_.size());
  const EpochOrder order(is_counted_ ? stream_.order() : EpochOrder(all, options_.shuffle, options_.seed));
  if (begins_in_stored_order(options_.shuffle) && fingerprint == fingerprint_of_names(dataset_, options_)) {
    return order.selection().fingerprint() == all.fingerprint();
  }
  return fingerprint == order.fingerprint(dataset_.size()) ||
         fingerprint == order.fingerprint(dataset_.size(), dataset_.identity()) ||
         fingerprint == order.fingerprint(dataset_.size(), dataset_.identity_of_samples());
}

}  // namespace bale::loader_detail
