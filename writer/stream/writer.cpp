#include "bale/writer/writer.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/system/cores.hpp"
#include "bale/formats/base/system/fork_mutex.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/writer/publish/writer_parts.hpp"
#include "bale/writer/shard/shard_job.hpp"
#include "bale/writer/stream/growing_dataset.hpp"
#include "bale/writer/stream/key_table.hpp"
#include "bale/writer/stream/sample_log.hpp"
#include "bale/writer/stream/shard_queue.hpp"
#include "bale/writer/stream/writer_samples.hpp"

namespace bale {
namespace {

constexpr unsigned k_max_default_jobs = 4;
// Memory that is kept for samples to come.
constexpr std::uint64_t k_kept_share = 4;  // of Options::memory_bytes
constexpr std::uint64_t k_max_kept_bytes = std::uint64_t{256} << 20;

unsigned jobs_of(const PackOptions& options) {
  return options.jobs != 0 ? options.jobs : std::min(usable_cores(), k_max_default_jobs);
}

/// A part is a dataset in a directory of its own, with the name of the whole.
Writer::Options in_its_place(Writer::Options options) {
  PackOptions& pack = options.pack;
  pack.destination = absolute_name(pack.destination);
  pack.staging_directory = absolute_name(pack.staging_directory);
  if (!options.part) return options;
  if (pack.default_name.empty()) pack.default_name = base_name(pack.destination);
  pack.destination = place_of_writer_part(pack.destination, *options.part);
  return options;
}

}  // namespace

class Writer::Run {
 public:
  explicit Run(Options options)
      : options_(in_its_place(std::move(options))),
        dataset_(options_.pack, options_.classes, options_.part.has_value()),
        keys_(destination_of_keys()) {
    if (dataset_.is_complete()) {
      count_ = dataset_.num_samples();
      report_ = dataset_.report();
      return;
    }
    adopt_finished();
  }

  bool is_of_this_process() const { return pid_ == ::getpid(); }
  std::uint64_t count() const { return count_; }

  std::uint64_t add(std::string_view key, std::span<const FieldView> fields, std::int64_t label) {
    FieldNames names(options_.pack);
    const CheckedSample sample(options_.pack, options_.classes, names, key, fields, label);
    const auto lock = lock_open();
    if (const auto place = find(sample.key())) refuse_repeated(key, count_, *place);
    append(sample);
    return count_ - 1;
  }

  std::uint64_t add_many(std::span<const SampleView> samples) {
    FieldNames names(options_.pack);
    std::deque<CheckedSample> checked;
    for (const SampleView& sample : samples) {
      at_position(checked.size(), [&] {
        checked.emplace_back(options_.pack, options_.classes, names, sample.key, sample.fields, sample.label);
      });
    }
    const auto lock = lock_open();
    refuse_repeated_keys(samples, checked);
    const std::uint64_t first = count_;
    for (const CheckedSample& sample : checked) append(sample);
    return first;
  }

  bool contains(std::string_view key) {
    const std::string stored = stored_key(*options_.pack.format.layout, key);
    const auto lock = this->lock();
    if (dataset_.is_complete()) return dataset_.find(stored).has_value();
    require_open();
    return find(stored).has_value();
  }

  std::uint64_t checkpoint() {
    const auto lock = lock_open();
    queue_->drain(options_.on_wait);
    filling_->sync();
    dataset_.sync_names();
    durable_ = count_.load();
    return durable_;
  }

  PackReport close() {
    const auto lock = this->lock();
    if (report_) return *report_;
    require_open();
    if (count_ == 0 && !options_.part) {
      throw Error(ErrorCode::invalid_argument, "nothing to pack: no sample was added");
    }
    if (filling_->size() != 0) hand_over();
    queue_->drain(options_.on_wait);
    state_ = "failed to write its manifest";
    report_ = dataset_.finish(encoded_keys_);
    queue_.reset();
    return *report_;
  }

  std::uint64_t abandon() {
    const auto lock = this->lock();
    if (report_) return count_;
    if (state_ == k_abandoned) return durable_;
    state_ = k_abandoned;
    std::vector<ShardQueue::Task> left;
    if (queue_ != nullptr) left = queue_->stop();
    queue_.reset();
    try {
      keep_all(left);
    } catch (...) {
      dataset_.release();  // the next Writer of this process may resume when there is room
      throw;
    }
    dataset_.release();
    return durable_;
  }

 private:
  static constexpr const char* k_abandoned = "was left without a manifest";

  /// Where a large table of keys goes.
  std::string destination_of_keys() const {
    return dataset_.is_complete() ? options_.pack.destination : dataset_.partial_directory();
  }

  std::unique_lock<std::timed_mutex> lock() {
    constexpr std::chrono::milliseconds k_poll{50};
    return polling_lock(mutex_, k_poll, [this] {
      if (options_.on_wait) options_.on_wait();
    });
  }

  std::unique_lock<std::timed_mutex> lock_open() {
    auto lock = this->lock();
    require_open();
    return lock;
  }

  void require_open() const {
    if (report_) {
      throw Error(ErrorCode::invalid_argument, "the dataset is complete: no sample can be added",
                  {.path = options_.pack.destination});
    }
    if (state_ != nullptr) {
      throw Error(ErrorCode::invalid_argument, fmt::format("this Writer {}", state_),
                  {.path = options_.pack.destination, .hint = "continue with a new one and `resume`"});
    }
  }

  void adopt_finished() {
    const auto on_key = [&](std::string_view key) {
      keys_.insert(hash_key(key));
      if (options_.pack.format.layout->keys_name_files) encoded_keys_ = encoded_keys_ || decode_key(key) != key;
    };
    std::vector<std::shared_ptr<SampleLog>> pending = dataset_.adopt_finished(on_key, fields_);
    const std::uint64_t next = dataset_.num_shards();
    count_ = dataset_.num_samples();
    queue_ = std::make_unique<ShardQueue>(
        jobs_of(options_.pack), next, [this](const ShardQueue::Task& task) { return write(task); },
        [this](const ShardQueue::Task& task, FinishedShard&& finished) { publish(task, std::move(finished)); });
    filling_ = std::make_shared<SampleLog>(next, count_, dataset_.pending_path(next), pool_);
    for (std::size_t i = 0; i < pending.size(); ++i) {
      if (i != 0) hand_over();
      filling_ = pending[i];
      count_ += filling_->size();
    }
    durable_ = count_.load();
  }

  /// Calls `check`. What it throws for a sample begins with the position of the sample.
  template <typename Check>
  static void at_position(std::size_t position, const Check& check) {
    try {
      check();
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("position {}: {}", position, error.message()), error.context());
    }
  }

  [[noreturn]] static void refuse_repeated(std::string_view key, std::uint64_t number, const std::string& place) {
    throw Error(ErrorCode::invalid_argument, fmt::format("sample {} has the same key as {}", number, place),
                {.key = std::string(key), .hint = "keys must be unique"});
  }

  /// Refuses the first sample whose key was added, or is that of a sample before it. Precondition: the Writer is
  /// locked.
  void refuse_repeated_keys(std::span<const SampleView> samples, const std::deque<CheckedSample>& checked) const {
    const auto earlier = earlier_with_its_key(checked);
    for (std::size_t at = 0; at < checked.size(); ++at) {
      std::optional<std::string> place = find(checked[at].key());
      if (!place && earlier && earlier->first == at) place = fmt::format("sample {}", count_ + earlier->second);
      if (place) at_position(at, [&] { refuse_repeated(samples[at].key, count_ + at, *place); });
    }
  }

  /// The position of the first sample that has the key of one before it, and the position of that one.
  static std::optional<std::pair<std::size_t, std::size_t>> earlier_with_its_key(
      const std::deque<CheckedSample>& samples) {
    std::vector<std::pair<std::uint64_t, std::size_t>> hashes;  // with positions
    hashes.reserve(samples.size());
    for (const CheckedSample& sample : samples) hashes.emplace_back(hash_key(sample.key()), hashes.size());
    std::sort(hashes.begin(), hashes.end());
    std::optional<std::pair<std::size_t, std::size_t>> found;
    for (auto at = hashes.begin(); at != hashes.end(); ++at) {
      for (auto next = at + 1; next != hashes.end() && next->first == at->first; ++next) {
        if (samples[next->second].key() != samples[at->second].key()) continue;
        if (!found || next->second < found->first) found.emplace(next->second, at->second);
        break;
      }
    }
    return found;
  }

  /// Adds a sample after all others. If it throws, the sample was not added. Precondition: the Writer is locked.
  void append(const CheckedSample& sample) {
    if (is_full(sample)) hand_over();
    if (filling_->memory_bytes() + waiting_bytes_ > options_.memory_bytes) filling_->spill();
    keys_.insert(hash_key(sample.key()));
    encoded_keys_ = encoded_keys_ || sample.is_encoded();
    for (const FieldView& field : sample.fields()) note_field(field.name);
    filling_->add(sample.key(), sample.label(), sample.fields());
    ++count_;
  }

  bool is_full(const CheckedSample& sample) const {
    const ShardSizing& sizing = options_.pack.sizing;
    if (filling_->size() == 0) return false;
    if (sizing.shard_samples != 0) return filling_->size() >= sizing.shard_samples;
    return filling_->payload_bytes() + sample.payload_bytes() > sizing.shard_bytes;
  }

  void note_field(std::string_view name) {
    if (std::find(fields_.begin(), fields_.end(), name) == fields_.end()) fields_.emplace_back(name);
  }

  /// Names of the log's fields, the images first.
  std::vector<std::string> fields_of(const SampleLog& pending) const {
    std::vector<std::string> fields;
    for (const std::string& name : fields_) {
      if (std::find(pending.names().begin(), pending.names().end(), name) != pending.names().end())
        fields.push_back(name);
    }
    std::stable_partition(fields.begin(), fields.end(), is_image_field);
    return fields;
  }

  /// Gives the log being filled to the queue and begins the next. If it throws, the log continues to be filled.
  void hand_over() {
    const std::shared_ptr<SampleLog> full = filling_;
    {
      const std::lock_guard lock(waiting_mutex_);
      waiting_.push_back(full);
    }
    try {
      waiting_bytes_ += full->memory_bytes();
      queue_->push({.pending = full, .fields = fields_of(*full)}, options_.on_wait);
    } catch (...) {
      waiting_bytes_ -= full->memory_bytes();
      const std::lock_guard lock(waiting_mutex_);
      waiting_.pop_back();
      throw;
    }
    const std::uint64_t next = full->shard() + 1;
    filling_ = std::make_shared<SampleLog>(next, full->first() + full->size(), dataset_.pending_path(next), pool_);
  }

  FinishedShard write(const ShardQueue::Task& task) {
    const SampleLog& pending = *task.pending;
    const LoggedSource source(pending, task.fields, options_.classes);
    const PlannedShard shard{.file = dataset_.shard_file(pending.shard()),
                             .begin = 0,
                             .end = pending.size(),
                             .bytes = pending.payload_bytes()};
    const ShardJob job{.source = source,
                       .options = options_.pack,
                       .dataset = dataset_.planned(),
                       .shard = shard,
                       .quarantine = quarantine_,
                       .staged_path = dataset_.staged_path(pending.shard())};
    return write_shard(job, progress_);
  }

  void publish(const ShardQueue::Task& task, FinishedShard&& finished) {
    dataset_.publish(std::move(finished));
    task.pending->remove();
    waiting_bytes_ -= task.pending->memory_bytes();
    const std::lock_guard lock(waiting_mutex_);
    waiting_.pop_front();
  }

  /// The place of a key that was added, as text. Precondition: the Writer is locked.
  std::optional<std::string> find(std::string_view key) const {
    if (!keys_.may_have(hash_key(key))) return std::nullopt;
    std::vector<std::shared_ptr<const SampleLog>> all{filling_};
    {
      // Published in the meantime, a shard's samples stay in memory until nobody uses them.
      const std::lock_guard lock(waiting_mutex_);
      all.insert(all.end(), waiting_.begin(), waiting_.end());
    }
    for (const auto& pending : all) {
      for (std::uint64_t i = 0; i < pending->size(); ++i) {
        if (pending->key(i) == key) return fmt::format("sample {}", pending->first() + i);
      }
    }
    return dataset_.find(key);
  }

  void keep_all(const std::vector<ShardQueue::Task>& left) {
    if (count_ == 0) {
      dataset_.leave();
      return;
    }
    durable_ = std::max(durable_, dataset_.num_samples());
    for (const ShardQueue::Task& task : left) keep(*task.pending);
    keep(*filling_);
  }

  /// Makes what waits durable, for a run that resumes.
  void keep(SampleLog& pending) {
    pending.sync();
    durable_ = std::max(durable_, pending.first() + pending.size());
  }

  const pid_t pid_ = ::getpid();
  const Options options_;
  GrowingDataset dataset_;
  Progress progress_;
  Quarantine quarantine_;
  std::timed_mutex mutex_;            // of all that follows, except as noted
  std::optional<PackReport> report_;  // of the finished dataset
  const char* state_ = nullptr;       // why no sample can be added
  std::atomic<std::uint64_t> count_{0};
  std::uint64_t durable_ = 0;
  KeyTable keys_;
  bool encoded_keys_ = false;
  std::vector<std::string> fields_;  // of all samples, in order of first appearance
  const std::shared_ptr<SampleBuffers> pool_ =
      std::make_shared<SampleBuffers>(std::min(options_.memory_bytes / k_kept_share, k_max_kept_bytes));
  std::shared_ptr<SampleLog> filling_;
  std::atomic<std::uint64_t> waiting_bytes_{0};  // memory of the pending in waiting_
  mutable std::mutex waiting_mutex_;
  std::deque<std::shared_ptr<SampleLog>> waiting_;  // in the queue
  std::unique_ptr<ShardQueue> queue_;               // last: its threads use the rest
};

Writer::Writer(Options options) : run_(std::make_unique<Run>(std::move(options))) {}

Writer::~Writer() {
  if (!run_->is_of_this_process()) {
    [[maybe_unused]] Run* const parents = run_.release();
    return;
  }
  try {
    run_->abandon();
  } catch (...) {
    // The samples of the last checkpoint are kept.
  }
}

Writer::Run& Writer::run() const {
  if (!run_->is_of_this_process()) {
    throw Error(ErrorCode::unsupported, "this Writer belongs to the process that forked this one",
                {.hint = "make the Writer in the process that adds the samples"});
  }
  return *run_;
}

std::uint64_t Writer::add(std::string_view key, std::span<const FieldView> fields, std::int64_t label) {
  return run().add(key, fields, label);
}
std::uint64_t Writer::add_many(std::span<const SampleView> samples) { return run().add_many(samples); }
std::uint64_t Writer::count() const { return run().count(); }
bool Writer::contains(std::string_view key) const { return run().contains(key); }
std::uint64_t Writer::checkpoint() { return run().checkpoint(); }
PackReport Writer::close() { return run().close(); }
std::uint64_t Writer::abandon() { return run().abandon(); }

}  // namespace bale
