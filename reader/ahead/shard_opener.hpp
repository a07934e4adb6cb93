// ShardOpener: opens remote shards before their samples are needed, many at a time: to open one takes some answers of
// the server, one after another.
//
// Ownership: the Dataset must outlive this object.
// Threads: one calls; the shards are opened by threads of the object.
// Errors: never fails: it is a hint. The reader that opens the shard gets the error.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "bale/formats/base/storage.hpp"
#include "bale/reader/dataset.hpp"

namespace bale {

class ShardOpener {
 public:
  /// `wants_seek_points`: they are looked for, too.
  ShardOpener(const Dataset& dataset, bool wants_seek_points);
  /// Waits for requests that are under way to be interrupted.
  ~ShardOpener();
  ShardOpener(const ShardOpener&) = delete;
  ShardOpener& operator=(const ShardOpener&) = delete;

  /// Opens the shard soon, unless it is local or was named before. Does not wait.
  void add(std::size_t shard);

 private:
  void submit(std::function<void()> work);
  void run();
  bool is_stopped();

  const Dataset& dataset_;
  const bool wants_seek_points_;
  std::vector<bool> is_named_;  // by shard

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  std::size_t num_idle_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

/// Where the dataset is, or a part of it; null if all of it is local.
const Storage* storage_of(const Dataset& dataset);

/// Whether a shard has a file of seek points, as far as that is known without asking a server: false if the shard is
/// remote and the dataset's manifest names no seek points of it; true if that is not known. The manifests of a dataset
/// of several parts are not compared. Precondition: shard < dataset.num_shards().
bool may_have_seek_points(const Dataset& dataset, std::size_t shard);

}  // namespace bale
