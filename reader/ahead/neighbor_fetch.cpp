#include "bale/reader/ahead/neighbor_fetch.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace bale {
namespace {

constexpr std::uint64_t k_unit_bytes = 4096;  // of the cache: a smaller gap shares its units with its neighbors
constexpr std::uint64_t k_spare_part = 16;    // of the cache stays free for indexes and for what else is read
constexpr std::uint64_t k_tight_spare_part =
    6;                                      // likewise, if it is too small for the epoch: also for what is read alone
constexpr std::uint64_t k_least_parts = 2;  // else there are no neighbors

std::uint64_t end_of(const FileRange& range) { return range.offset + range.length; }

}  // namespace

std::vector<FillRange> fill_ranges(std::vector<FileRange> parts, std::uint64_t most_bytes, std::uint64_t gap_bytes) {
  std::sort(parts.begin(), parts.end(), [](const FileRange& a, const FileRange& b) { return a.offset < b.offset; });
  std::vector<FillRange> ranges;
  for (const FileRange& part : parts) {
    if (part.length == 0) continue;
    FillRange* const last = ranges.empty() ? nullptr : &ranges.back();
    const bool is_near = last != nullptr && part.offset <= end_of(last->range) + gap_bytes;
    if (!is_near || std::max(end_of(part), end_of(last->range)) - last->range.offset > most_bytes) {
      ranges.push_back({.range = part, .num_parts = 1});
      continue;
    }
    last->range.length = std::max(end_of(part), end_of(last->range)) - last->range.offset;
    ++last->num_parts;
  }
  return ranges;
}

NeighborFetch::NeighborFetch(const Dataset& dataset, const Storage& storage, OpenFile open, IsNeeded is_needed,
                             std::uint64_t most_under_way)
    : dataset_(dataset),
      storage_(storage),
      open_(std::move(open)),
      is_needed_(std::move(is_needed)),
      most_under_way_(most_under_way) {}

NeighborFetch::Outcome NeighborFetch::add(std::uint64_t sample, std::uint64_t epoch) {
  if (epoch != epoch_) {
    epoch_ = epoch;
    ended_ = false;
    plans_.clear();
    planned_samples_ = planned_bytes_ = 0;
    room_ = storage_.cache().free_bytes();
  }
  if (ended_) return Outcome::alone;
  const auto [shard, i] = dataset_.position(sample);
  auto plan = plans_.find(shard);
  if (plan == plans_.end()) plan = plans_.emplace(shard, make_plan(shard, sample - i)).first;
  std::vector<FillRange>& ranges = plan->second.ranges;
  Outcome outcome = Outcome::alone;
  for (const FileRange& part : dataset_.use_shard(shard)->locate(i)) {
    if (part.length == 0) continue;
    auto found =
        std::upper_bound(ranges.begin(), ranges.end(), part.offset,
                         [](std::uint64_t offset, const FillRange& range) { return offset < range.range.offset; });
    if (found == ranges.begin()) return Outcome::alone;
    --found;
    if (end_of(part) > end_of(found->range)) return Outcome::alone;
    outcome = request(shard, *found);
    if (outcome != Outcome::requested) return outcome;
  }
  return outcome;
}

NeighborFetch::Plan NeighborFetch::make_plan(std::size_t shard, std::uint64_t first_sample) {
  const std::uint64_t size = dataset_.shard_size(shard);
  const ShardInUse opened = dataset_.use_shard(shard);
  std::vector<FileRange> parts;
  Plan plan;
  for (std::uint64_t i = 0; i < size; ++i) {
    if (!is_needed_(first_sample + i, *epoch_)) continue;
    for (const FileRange& part : opened->locate(i)) {
      parts.push_back(part);
      planned_bytes_ += part.length;
      plan.places.push_back({.offset = part.offset, .sample = first_sample + i});
    }
  }
  planned_samples_ += size;
  if (fits()) plan.places.clear();
  std::sort(plan.places.begin(), plan.places.end(), [](const Place& a, const Place& b) { return a.offset < b.offset; });
  plan.ranges = fill_ranges(std::move(parts), k_fill_bytes, k_unit_bytes - 1);
  return plan;
}

std::vector<std::uint64_t> NeighborFetch::samples_in(std::size_t shard, const FileRange& range) const {
  const std::vector<Place>& places = plans_.at(shard).places;
  const auto is_before = [](const Place& place, std::uint64_t offset) { return place.offset < offset; };
  const auto begin = std::lower_bound(places.begin(), places.end(), range.offset, is_before);
  const auto end = std::lower_bound(begin, places.end(), end_of(range), is_before);
  std::vector<std::uint64_t> samples;
  std::transform(begin, end, std::back_inserter(samples), [](const Place& place) { return place.sample; });
  return samples;
}

std::vector<std::uint64_t> NeighborFetch::take_arrived() {
  bytes_under_way();
  return std::exchange(arrived_, {});
}

NeighborFetch::Outcome NeighborFetch::request(std::size_t shard, FillRange& range) {
  if (range.is_requested) return Outcome::requested;
  if (range.num_parts < k_least_parts) return Outcome::alone;
  const std::shared_ptr<const RemoteFile> file = open_(shard);
  if (!file) return Outcome::alone;
  if (!file->is_cached(range.range.offset, range.range.length)) {
    const std::uint64_t under_way = bytes_under_way();
    if (under_way > 0 && under_way + range.range.length > most_under_way_) return Outcome::busy;
    if (!has_room(range.range.length)) {
      ended_ = true;
      return Outcome::alone;
    }
    const auto held = std::make_shared<const char>();
    under_way_.push_back({held, range.range.length, samples_in(shard, range.range)});
    file->fetch_ahead(range.range.offset, range.range.length, held);
  }
  range.is_requested = true;
  return Outcome::requested;
}

bool NeighborFetch::has_room(std::uint64_t bytes) const {
  const std::uint64_t spare = storage_.cache().bytes() / (fits() ? k_spare_part : k_tight_spare_part);
  return storage_.cache().free_bytes() >= spare + bytes;
}

/// Whether the cache had room for all that the epoch needs, which is estimated by the shards that are known.
bool NeighborFetch::fits() const {
  const double needed = static_cast<double>(planned_bytes_) /
                        static_cast<double>(std::max<std::uint64_t>(planned_samples_, 1)) *
                        static_cast<double>(dataset_.size());
  return needed <= static_cast<double>(room_ - std::min(room_, storage_.cache().bytes() / k_spare_part));
}

std::uint64_t NeighborFetch::bytes_under_way() {
  std::erase_if(under_way_, [this](const UnderWay& one) {
    if (!one.held.expired()) return false;
    arrived_.insert(arrived_.end(), one.samples.begin(), one.samples.end());
    return true;
  });
  std::uint64_t bytes = 0;
  for (const UnderWay& one : under_way_) bytes += one.bytes;
  return bytes;
}

}  // namespace bale
