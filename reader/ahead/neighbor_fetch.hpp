// NeighborFetch: fetches remote samples together with their neighbors in the shard, in ranges of up to 8 MiB.
//
// A full shuffle needs samples from everywhere, so one request per sample is all that reading ahead in the order of
// deliveries can do. But whatever is needed later in the epoch may come now if the cache has room for it. So the first
// delivery from a range brings all of the range that this node still needs in the epoch: nothing else is fetched, but
// gaps of less than a unit of the cache.
//
// Processes that share the cache may fill it at the same time: what one of them fetches the others find claimed, so
// that no range is fetched twice.
//
// Content of the cache is never removed for it: it ends for the epoch when free room does. If it had not enough for all
// that is needed, what came is to be announced (take_arrived()), so that it stays until it is read: what was read
// before is then removed first, and by simulation later epochs need no more than without it.
//
// Ownership: the Dataset must outlive this object.
// Threads: used by one. Requests are under way on others, also after the end of this object.
// Errors: add() throws what opening a shard throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "bale/formats/base/file_range.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/reader/dataset.hpp"

namespace bale {

/// A range of a shard that is fetched by one request, and the number of samples that begin in it.
struct FillRange {
  FileRange range;
  std::uint64_t num_parts = 0;  // ranges of samples that it was made of
  bool is_requested = false;
};

inline constexpr std::uint64_t k_fill_bytes = std::uint64_t{8} << 20;

/// Merges the places of samples into ranges of up to `most_bytes`, in the order of their offsets. A part that is longer
/// is a range of its own. Gaps of up to `gap_bytes` are in a range.
std::vector<FillRange> fill_ranges(std::vector<FileRange> parts, std::uint64_t most_bytes, std::uint64_t gap_bytes);

class NeighborFetch {
 public:
  /// Whether this node needs the sample in this epoch.
  using IsNeeded = std::function<bool(std::uint64_t sample, std::uint64_t epoch)>;
  using OpenFile = std::function<std::shared_ptr<const RemoteFile>(std::size_t shard)>;  // null if it is local

  enum class Outcome {
    requested,  // with its neighbors, now or before
    busy,       // not now: enough is under way
    alone,      // nothing of it is fetched with neighbors
  };

  /// At most `most_under_way` bytes are requested and not there, and always one range.
  NeighborFetch(const Dataset& dataset, const Storage& storage, OpenFile open, IsNeeded is_needed,
                std::uint64_t most_under_way);

  /// Requests the ranges that the sample is in. Epochs are named in ascending order.
  Outcome add(std::uint64_t sample, std::uint64_t epoch);
  /// Samples of requests that ended since the last call, if the cache did not have room for all that the epoch needs.
  std::vector<std::uint64_t> take_arrived();

 private:
  struct Plan;
  Plan make_plan(std::size_t shard, std::uint64_t first_sample);
  Outcome request(std::size_t shard, FillRange& range);
  bool has_room(std::uint64_t bytes) const;
  bool fits() const;
  std::vector<std::uint64_t> samples_in(std::size_t shard, const FileRange& range) const;
  std::uint64_t bytes_under_way();

  struct UnderWay {
    std::weak_ptr<const void> held;
    std::uint64_t bytes = 0;
    std::vector<std::uint64_t> samples{};  // to be announced
  };
  /// Where a needed sample begins.
  struct Place {
    std::uint64_t offset = 0;
    std::uint64_t sample = 0;
  };
  struct Plan {
    std::vector<FillRange> ranges;
    std::vector<Place> places;  // by offset; empty if the cache has room for all
  };
  const Dataset& dataset_;
  const Storage& storage_;
  const OpenFile open_;
  const IsNeeded is_needed_;
  const std::uint64_t most_under_way_;

  std::optional<std::uint64_t> epoch_{};
  std::uint64_t room_ = 0;             // free in the cache when the epoch began
  bool ended_ = false;                 // for this epoch
  std::map<std::size_t, Plan> plans_;  // by shard
  std::uint64_t planned_samples_ = 0;  // of the shards in plans_
  std::uint64_t planned_bytes_ = 0;    // that are needed of them
  std::vector<UnderWay> under_way_;
  std::vector<std::uint64_t> arrived_;
};

}  // namespace bale
