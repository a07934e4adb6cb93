#include "bale/reader/ahead/shard_opener.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/system/threads.hpp"
#include "bale/formats/shard/seek_point_file.hpp"

namespace bale {
namespace {

constexpr std::size_t k_max_threads = 32;  // each waits for an answer nearly all the time

}  // namespace

ShardOpener::ShardOpener(const Dataset& dataset, bool wants_seek_points)
    : dataset_(dataset), wants_seek_points_(wants_seek_points), is_named_(dataset.num_shards()) {}

ShardOpener::~ShardOpener() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ShardOpener::add(std::size_t shard) {
  if (is_named_[shard]) return;
  is_named_[shard] = true;
  const std::string& path = dataset_.shard_path(shard);
  const Storage* const storage = remote_storage_of(path);
  if (storage == nullptr) return;
  // Without a cache all but the shard itself would be asked for twice.
  if (storage->cache().bytes() == 0) return submit([this, shard] { dataset_.use_index(shard); });
  submit([this, shard] {
    dataset_.has_index_file(shard);
  });  // the index is requested together with the shard, not after it
  submit([this, shard] { dataset_.use_index(shard); });
  if (!wants_seek_points_ || !may_have_seek_points(dataset_, shard)) return;
  for (const std::string& seek_points : {seek_point_path(path), old_seek_point_path(path)}) {
    submit([this, shard, seek_points] { dataset_.has_index_file(shard) && path_exists(seek_points); });
  }
}

void ShardOpener::submit(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
    if (waiting_.size() > num_idle_ && threads_.size() < k_max_threads) add_thread(threads_, [this] { run(); });
  }
  changed_.notify_one();
}

void ShardOpener::run() {
  const RemoteWaitPoll end_when_stopped([this] {
    if (is_stopped()) throw Error(ErrorCode::interrupted, "interrupted");
  });
  std::unique_lock lock(mutex_);
  for (;;) {
    ++num_idle_;
    changed_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
    --num_idle_;
    if (stop_) return;
    const std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    try {
      work();
    } catch (const std::exception&) {
      // See above: Errors.
    }
    lock.lock();
  }
}

bool ShardOpener::is_stopped() {
  const std::lock_guard lock(mutex_);
  return stop_;
}

const Storage* storage_of(const Dataset& dataset) {
  const Storage* storage = nullptr;
  for (std::size_t shard = 0; shard < dataset.num_shards() && storage == nullptr; ++shard) {
    storage = remote_storage_of(dataset.shard_path(shard));
  }
  return storage;
}

bool may_have_seek_points(const Dataset& dataset, std::size_t shard) {
  const bool is_local = remote_storage_of(dataset.shard_path(shard)) == nullptr;
  if (is_local || !dataset.manifest() || dataset.manifest()->shards.size() != dataset.num_shards()) return true;
  const ManifestShard& named = dataset.manifest()->shards[shard];
  return std::any_of(named.sidecars.begin(), named.sidecars.end(), [&](const std::string& file) {
    return file == seek_point_path(named.file) || file == old_seek_point_path(named.file);
  });
}

}  // namespace bale
