#include "bale/reader/read_ahead.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/files/read_limit.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/system/threads.hpp"
#include "bale/reader/ahead/neighbor_fetch.hpp"
#include "bale/reader/ahead/shard_opener.hpp"
#include "bale/reader/dataset/read_requests.hpp"

namespace bale {
class ReadAhead::Thread {
 public:
  Thread(const Dataset& dataset, Upcoming upcoming, const ReadAheadOptions& options)
      : dataset_(dataset),
        upcoming_(std::move(upcoming)),
        window_bytes_(static_cast<std::int64_t>(std::min(options.window_bytes, k_max_window_bytes))),
        group_samples_(std::max<std::uint64_t>(options.group_samples, 1)),
        large_transfers_(options.large_transfers),
        in_flight_(options.in_flight),
        first_samples_(options.first_samples),
        progress_(options.progress),
        announced_(options.begin),
        consumed_(options.begin) {
    if (const Storage* const storage = storage_of(dataset)) {
      const std::uint64_t readers = std::max<std::uint64_t>(options.readers, 1);
      window_bytes_ = std::min(window_bytes_, static_cast<std::int64_t>(storage->cache().max_bytes_ahead() / readers));
      if (options.clock && options.clock->knows()) clock_ = options.clock;
      if (window_bytes_ > 0) open_ahead_.emplace(dataset, options.wants_seek_points);
      if (window_bytes_ > 0 && options.is_needed && storage->cache().bytes() > 0) {
        fill_ahead_.emplace(
            dataset, *storage, [this](std::size_t shard) { return remote_file(shard); }, options.is_needed,
            options.window_bytes);
      }
    }
    if (window_bytes_ == 0) return;
    try {
      thread_ = start_thread([this] { run(); });
    } catch (const Error&) {  // then readers read what they need
    }
  }

  bool is_of_this_process() const { return process_.is_here(); }

  ~Thread() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  void wait_until_requested(std::uint64_t n) {
    if (!thread_.joinable()) return;
    std::unique_lock lock(mutex_);
    requested_changed_.wait(lock, [&] { return requested_ > n || idle_ || stop_; });
  }

  void consumed(std::uint64_t n) {
    {
      const std::lock_guard lock(mutex_);
      if (n <= consumed_) return;
      consumed_ = n;
      if (n < wake_at_) return;
    }
    changed_.notify_one();
  }

 private:
  /// What fails here fails again, with a name, when the sample is read.
  void run() {
    try {
      read_until_stopped();
    } catch (const std::exception&) {
    }
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    requested_changed_.notify_all();
  }

  void read_until_stopped() {
    const RemoteWaitPoll end_when_stopped([this] {
      const std::lock_guard lock(mutex_);
      if (stop_) throw Error(ErrorCode::interrupted, "interrupted");
    });
    while (take_consumed()) {
      announce_next_uses();
      announce_arrived();
      if (ahead_bytes_ >= window_bytes_) {
        wait_for(enough_consumed());
      } else if (next_request_ < requests_.size()) {
        issue();
      } else if (!plan_group()) {
        wait_for(seen_ + 1);
      }
    }
  }

  /// Drops what has been consumed. Returns false if the thread must stop.
  bool take_consumed() {
    if (const auto known = open_ahead_ && progress_ ? progress_() : std::nullopt) consumed(*known);
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return false;
      seen_ = consumed_;
    }
    if (seen_ >= planned_) {
      // The readers overtook the requests: continue from their position.
      planned_ = seen_;
      lengths_.clear();
      requests_.clear();
      next_request_ = 0;
      ahead_bytes_ = 0;
    }
    for (; planned_ - lengths_.size() < seen_; lengths_.pop_front()) ahead_bytes_ -= lengths_.front();
    return true;
  }

  /// Tells the cache when each consumed sample is needed again.
  void announce_next_uses() {
    if (!clock_) return;
    for (; announced_ + in_flight_ < seen_; ++announced_) {
      const std::optional<UpcomingSample> read = upcoming_(announced_);
      if (!read) continue;
      now_ = clock_->time(read->epoch, read->position);
      const auto next_use = [&](std::uint64_t sample) { return clock_->next_use(sample, read->epoch, read->position); };
      announce(read->sample, next_use);
    }
  }

  /// What came with its neighbors must stay until it is read.
  void announce_arrived() {
    if (!clock_ || !fill_ahead_) return;
    for (const std::uint64_t sample : fill_ahead_->take_arrived()) {
      const std::optional<UpcomingSample> read = upcoming_(seen_);
      if (!read) return;
      now_ = std::max(now_, clock_->time(read->epoch, read->position));
      announce(sample, [&](std::uint64_t other) {
        return other == sample ? clock_->next_use(sample, read->epoch, read->position) : std::nullopt;
      });
    }
  }

  /// The first and the last bytes of a sample share a unit of the cache with its neighbors: the soonest use counts.
  template <typename Use>
  void announce(std::uint64_t sample, const Use& use_of) {
    try {
      const auto [shard, i] = dataset_.position(sample);
      if (is_unusable(shard)) return;
      const ShardInUse opened = dataset_.use_shard(shard);
      const std::shared_ptr<const RemoteFile> file = remote_file(shard);
      if (!file) return;
      const auto use = use_of(sample);
      const auto before = i > 0 ? use_of(sample - 1) : std::nullopt;
      const auto after = i + 1 < opened->index().size() ? use_of(sample + 1) : std::nullopt;
      for (const FileRange& range : opened->locate(i)) {
        if (range.length == 0) continue;
        if (use) file->will_use(range.offset, range.length, *use);
        if (before) file->will_use(range.offset, 1, *before);
        if (after) file->will_use(range.offset + range.length - 1, 1, *after);
      }
    } catch (const std::exception&) {
      // A sample that cannot be located is not cached either.
    }
  }

  /// The file that an open shard reads; null if it is local. To look up its name takes longer than all of announce().
  std::shared_ptr<const RemoteFile> remote_file(std::size_t shard) {
    KnownFile& known = known_files_[shard % known_files_.size()];
    std::shared_ptr<const RemoteFile> file = known.shard == shard ? known.file.lock() : nullptr;
    if (file) return file;
    const std::string& path = dataset_.shard_path(shard);
    const Storage* const storage = remote_storage_of(path);
    if (storage != nullptr) file = storage->open(path);
    known = {shard, file};
    return file;
  }

  /// Each try to open a shard of a server that does not answer takes long: one per group is enough.
  bool is_unusable(std::size_t shard) const {
    return std::find(unusable_.begin(), unusable_.end(), shard) != unusable_.end();
  }

  /// Requests the sample with its neighbors, if that can be done.
  NeighborFetch::Outcome fill(const UpcomingSample& next) {
    if (!fill_ahead_ || planned_ < first_samples_) return NeighborFetch::Outcome::alone;
    const std::size_t shard = dataset_.position(next.sample).first;
    if (is_unusable(shard)) return NeighborFetch::Outcome::alone;
    try {
      return fill_ahead_->add(next.sample, next.epoch);
    } catch (const std::exception&) {
      unusable_.push_back(shard);
      return NeighborFetch::Outcome::alone;
    }
  }

  /// The number of consumed deliveries at which the next wake-up is worthwhile.
  std::uint64_t enough_consumed() const {
    std::int64_t bytes = 0;
    std::uint64_t count = 0;
    while (count < lengths_.size() && bytes < window_bytes_ / k_steps) bytes += lengths_[count++];
    return seen_ + std::max<std::uint64_t>(count, 1);
  }

  void wait_for(std::uint64_t consumed) {
    std::unique_lock lock(mutex_);
    wake_at_ = consumed;
    idle_ = true;
    requested_changed_.notify_all();
    const auto is_due = [this] { return stop_ || consumed_ >= wake_at_; };
    if (open_ahead_) {
      changed_.wait_for(lock, k_poll_interval, is_due);  // for progress_, and for what is under way
    } else {
      changed_.wait(lock, is_due);
    }
    wake_at_ = k_awake;
    idle_ = false;
  }

  /// Opens the shards of the next deliveries.
  void open_ahead() {
    if (!open_ahead_) return;
    for (foreseen_ = std::max(foreseen_, planned_); foreseen_ < planned_ + k_foreseen; ++foreseen_) {
      const std::optional<UpcomingSample> next = upcoming_(foreseen_);
      if (!next) return;
      open_ahead_->add(dataset_.position(next->sample).first);
    }
  }

  /// Larger groups for remote data: more neighbors are fetched together.
  std::uint64_t max_group_samples() const {
    constexpr std::uint64_t k_part = 4;
    return open_ahead_ ? std::max(group_samples_, (planned_ - seen_) / k_part) : group_samples_;
  }

  /// Plans the requests for the next deliveries. Returns false if there are none yet.
  bool plan_group() {
    open_ahead();
    requests_.clear();
    next_request_ = 0;
    group_bytes_ = 0;
    unusable_.clear();
    std::optional<std::uint64_t> window;
    std::uint64_t count = 0;
    const std::uint64_t most = max_group_samples();
    for (; group_bytes_ < window_bytes_; ++count) {
      const std::optional<UpcomingSample> next = upcoming_(planned_);
      if (!next || (count > 0 && next->window != window)) break;
      if (!next->window && (count == most || (count > 0 && ahead_bytes_ + group_bytes_ >= window_bytes_))) break;
      const NeighborFetch::Outcome filled = fill(*next);
      if (filled == NeighborFetch::Outcome::busy && planned_ >= seen_ + k_soon) break;
      window = next->window;
      const std::size_t num_requests = requests_.size();
      lengths_.push_back(locate(next->sample));
      if (filled == NeighborFetch::Outcome::requested) requests_.resize(num_requests);
      if (clock_) announce_this_use(*next);
      group_bytes_ += lengths_.back();
      ++planned_;
    }
    merge_reads(requests_);
    if (requests_.empty()) group_is_out();
    return count > 0;
  }

  /// What is there already must stay until then.
  void announce_this_use(const UpcomingSample& next) {
    const std::uint64_t time = clock_->time(next.epoch, next.position);
    if (planned_ == 0) now_ = time;
    announce(next.sample, [&](std::uint64_t sample) {
      return sample == next.sample ? std::optional(NextUse{clock_->id(), now_, time}) : std::nullopt;
    });
  }

  /// A group's requests count as the bytes of its samples, without the gaps: consuming the samples subtracts the same.
  void group_is_out() {
    ahead_bytes_ += std::exchange(group_bytes_, 0);
    const std::lock_guard lock(mutex_);
    requested_ = planned_;
    requested_changed_.notify_all();
  }

  /// Bytes of the window that the sample takes. A sample that cannot be located takes one page, so that a walk over
  /// such samples ends, too.
  std::int64_t locate(std::uint64_t sample) {
    std::uint64_t bytes = 0;
    const std::size_t shard = dataset_.position(sample).first;
    try {
      if (!is_unusable(shard)) bytes = locate_reads(dataset_, sample, requests_);
    } catch (const std::exception&) {
      unusable_.push_back(shard);  // the read of the sample meets the same error and can name the sample
    }
    return static_cast<std::int64_t>(bytes > 0 ? bytes : k_page_bytes);
  }

  void issue() {
    const ReadRequest& request = requests_[next_request_++];
    try {
      if (!large_transfers_ || request.range.length < k_large_bytes || !read_large(request)) {
        dataset_.use_shard(request.shard)->payload().will_need(request.range);
      }
    } catch (const std::exception&) {
      // The shard was closed and cannot be opened. The read of the sample meets the same error.
    }
    if (next_request_ == requests_.size()) return group_is_out();
    const std::int64_t bytes = std::min(group_bytes_, static_cast<std::int64_t>(request.range.length));
    group_bytes_ -= bytes;
    ahead_bytes_ += bytes;
  }

  bool read_large(const ReadRequest& request) {
    try {
      if (!large_reads_ || request.shard != large_shard_) {
        large_reads_.emplace(dataset_.shard_path(request.shard));
        large_shard_ = request.shard;
      }
      return large_reads_->read(request.range.offset, request.range.length);
    } catch (const std::exception&) {
      return false;  // the reads of the samples meet the same error and can name them
    }
  }

  // A request of this size fills a good part of a large transfer; a smaller one would read too much around it.
  static constexpr std::uint64_t k_large_bytes = std::uint64_t{3} << 20;
  static constexpr std::uint64_t k_max_window_bytes = std::uint64_t{1} << 60;
  static constexpr std::uint64_t k_awake = ~std::uint64_t{0};
  static constexpr std::int64_t k_steps = 16;
  static constexpr std::uint64_t k_foreseen = 1024;  // deliveries
  // Deliveries that do not wait for a place among the large requests: enough for thousands per second at 100 ms.
  static constexpr std::uint64_t k_soon = 256;
  static constexpr std::chrono::milliseconds k_poll_interval{10};

  const Dataset& dataset_;
  const Upcoming upcoming_;
  std::int64_t window_bytes_;
  const std::uint64_t group_samples_;
  const bool large_transfers_;
  std::optional<UseClock> clock_{};          // null: no cache wants to know
  std::optional<ShardOpener> open_ahead_{};  // null: all shards are local
  const std::uint64_t in_flight_;
  const std::uint64_t first_samples_;
  const std::function<std::optional<std::uint64_t>()> progress_;
  std::optional<NeighborFetch> fill_ahead_{};  // null: samples are requested alone

  // Used by the thread only.
  std::uint64_t seen_ = 0;       // consumed_ at the last check
  std::uint64_t planned_ = 0;    // deliveries before this are planned
  std::uint64_t foreseen_ = 0;   // the shards of deliveries before this are being opened
  std::uint64_t announced_ = 0;  // of deliveries before this, the next use was announced
  std::uint64_t now_ = 0;        // clock_'s time of the last of them
  struct KnownFile {
    std::size_t shard = 0;
    std::weak_ptr<const RemoteFile> file{};
  };
  std::array<KnownFile, 256> known_files_{};
  std::vector<std::size_t> unusable_;  // shards that could not be opened for this group
  std::deque<std::int64_t> lengths_;   // bytes of the planned deliveries that are not consumed
  std::vector<ReadRequest> requests_;  // of the current group
  std::size_t next_request_ = 0;
  std::optional<TwoMibReads> large_reads_;  // of the shard of the last large request
  std::size_t large_shard_ = 0;
  std::int64_t group_bytes_ = 0;  // of the current group, not yet in ahead_bytes_
  std::int64_t ahead_bytes_ = 0;  // requested and not consumed; below 0 if readers came first

  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable requested_changed_;
  std::uint64_t requested_ = 0;  // deliveries before this are requested
  bool idle_ = false;            // the thread waits for the readers
  std::uint64_t consumed_ = 0;
  std::uint64_t wake_at_ = k_awake;
  bool stop_ = false;
  const OwnProcess process_;
  std::thread thread_;
};

ReadAhead::ReadAhead(const Dataset& dataset, Upcoming upcoming, const ReadAheadOptions& options)
    : thread_(std::make_unique<Thread>(dataset, std::move(upcoming), options)) {}

ReadAhead::~ReadAhead() {
  if (thread_ && !thread_->is_of_this_process()) thread_.release();
}

void ReadAhead::consumed(std::uint64_t n) { thread_->consumed(n); }
void ReadAhead::wait_until_requested(std::uint64_t n) { thread_->wait_until_requested(n); }

}  // namespace bale
