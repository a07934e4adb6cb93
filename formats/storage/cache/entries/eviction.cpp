#include "bale/formats/storage/cache/entries/eviction.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/files/temporary_file.hpp"
#include "bale/formats/storage/cache/entries/unit_map.hpp"
#include "bale/formats/storage/cache/shared/shared_file.hpp"

namespace bale {
namespace {

constexpr std::string_view k_map_suffix = ".map";
constexpr std::string_view k_data_suffix = ".data";
constexpr std::string_view k_kept_suffix = ".kept";
constexpr std::uint64_t k_block_bytes = 512;  // of st_blocks

/// Ranks content by the time until it is used again. What has the highest rank is removed first.
class Ranking {
 public:
  static constexpr std::size_t k_num_ranks = 1 << 16;

  Ranking(const OrderTable& orders, Tick now) : orders_(orders), now_(now) {}

  /// Of a unit in a region that was used last at `last_use`.
  std::uint32_t rank(std::uint32_t next_use, Tick last_use) {
    if (next_use == next_use_ && last_use == last_use_) return rank_;  // as the unit before
    next_use_ = next_use;
    last_use_ = last_use;
    return rank_ = of_ticks(orders_.ticks_until(next_use, now_).value_or(age(last_use)));
  }
  std::uint32_t rank(Tick last_use) const { return of_ticks(age(last_use)); }

 private:
  /// What was used a moment ago is expected in a moment: an LRU order for content of which nothing else is known.
  float age(Tick last_use) const {
    const auto ticks = static_cast<std::int32_t>(now_ - last_use);
    return ticks > 0 ? static_cast<float>(ticks) : 0;
  }
  /// Exponent and upper bits of the fraction: times that differ by less than 1 in 256 have one rank.
  static std::uint32_t of_ticks(float ticks) { return std::bit_cast<std::uint32_t>(ticks) >> 15; }

  const OrderTable& orders_;
  const Tick now_;
  std::uint32_t next_use_ = OrderTable::k_unknown;
  Tick last_use_ = 0;
  std::uint32_t rank_ = of_ticks(age(0));
};

template <typename Each>
void for_each_file(const std::string& files, Each each) {
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(files, error), end; !error && at != end; at.increment(error)) {
    if (!at->is_directory(error)) each(at->path().string());
  }
}

std::uint64_t disk_bytes(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_blocks) * k_block_bytes : 0;
}

std::string data_path_of(const std::string& map_path) {
  return map_path.substr(0, map_path.size() - k_map_suffix.size()) + std::string(k_data_suffix);
}

/// The file of a map's content, locked against CachedFile::pin(); nullopt if it is pinned. A file that was removed by
/// hand has no descriptor.
std::optional<File> data_of(const std::string& map_path) {
  try {
    File data = File::open_update(data_path_of(map_path));
    if (::flock(data.fd(), LOCK_EX | LOCK_NB) != 0) return std::nullopt;
    return data;
  } catch (const Error& error) {
    return error.code() == ErrorCode::not_found ? std::optional(File()) : std::nullopt;
  }
}

/// Calls each(unit, rank) for all present units.
template <typename Each>
void for_each_unit(const UnitMap& map, Ranking& ranking, Each each) {
  for (std::uint64_t region = 0; region < map.num_regions(); ++region) {
    if (map.num_present(region) == 0) continue;
    const Tick last_use = map.last_use(region);
    const UnitRun units = map.units_of_region(region);
    for (std::uint64_t unit = units.first; unit < units.end; ++unit) {
      if (const auto next_use = map.next_use(unit)) each(unit, ranking.rank(*next_use, last_use));
    }
  }
}

/// What is to be removed: everything above a rank, and `bytes_at_rank` of what has it.
struct Victims {
  std::uint32_t rank = 0;
  std::uint64_t bytes_at_rank = 0;

  bool take(std::uint32_t rank_of_content, std::uint64_t bytes) {
    if (rank_of_content != rank) return rank_of_content > rank;
    if (bytes_at_rank == 0) return false;
    bytes_at_rank -= std::min(bytes_at_rank, bytes);
    return true;
  }
};

/// The victims that make up `bytes`.
Victims choose(const std::vector<std::uint64_t>& bytes_of_rank, std::uint64_t bytes) {
  for (std::uint32_t rank = Ranking::k_num_ranks - 1; rank > 0; --rank) {
    if (bytes_of_rank[rank] >= bytes) return {rank, bytes};
    bytes -= bytes_of_rank[rank];
  }
  return {0, bytes};
}

/// The victims among the units of a map.
std::vector<UnitRun> victims_of(const UnitMap& map, Ranking& ranking, Victims& victims) {
  std::vector<UnitRun> chosen;
  for_each_unit(map, ranking, [&](std::uint64_t unit, std::uint32_t rank) {
    if (!victims.take(rank, k_unit_bytes)) return;
    if (chosen.empty() || chosen.back().end != unit) chosen.push_back({unit, unit});
    chosen.back().end = unit + 1;
  });
  return chosen;
}

/// A kept file has no map: its time of change is that of its last use.
Tick last_use_of(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<Tick>(info.st_mtim.tv_sec * k_ticks_per_second) : 0;
}

}  // namespace

EvictionLock::EvictionLock(const std::string& path) : file_(FileLock(open_shared_file(path, 1))) {
  while (::flock(file_.fd(), LOCK_EX) != 0) {
    if (errno != EINTR) throw_errno("lock", path);
  }
}

std::uint64_t content_bytes(const std::string& directory) {
  return *content_bytes(directory, std::numeric_limits<std::size_t>::max());
}

std::optional<std::uint64_t> content_bytes(const std::string& directory, std::size_t max_files) {
  std::uint64_t bytes = disk_bytes(directory);
  std::size_t num_files = 0;
  std::error_code error;
  std::filesystem::recursive_directory_iterator at(directory, error);
  for (; !error && at != std::filesystem::recursive_directory_iterator(); at.increment(error)) {
    const std::string path = at->path().string();
    if (at->is_directory(error)) remove_stale_temporaries(path);
    bytes += disk_bytes(path);
    if (++num_files > max_files) return std::nullopt;
  }
  return bytes;
}

std::uint64_t remove_entry(const std::string& map_path) {
  std::uint64_t bytes = 0;
  for (const std::string& path : {map_path, data_path_of(map_path)}) {
    const std::uint64_t size = disk_bytes(path);
    if (::unlink(path.c_str()) == 0) bytes += size;
  }
  return bytes;
}

std::uint64_t remove_claimed(UnitMap& map, const File& data, UnitRun claimed, std::uint32_t token) {
  const auto offset = static_cast<off_t>(claimed.first * k_unit_bytes);
  const auto length = static_cast<off_t>(claimed.size() * k_unit_bytes);
  const bool is_free =
      !data.is_open() || ::fallocate(data.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length) == 0;
  map.release(claimed, token);
  return is_free ? claimed.size() * k_unit_bytes : 0;
}

void remove_abandoned(const std::string& files, const ProcessSlots& slots) {
  for_each_file(files, [&](const std::string& path) {
    if (path.ends_with(k_data_suffix)) {
      const std::string entry = path.substr(0, path.size() - k_data_suffix.size());
      if (!name_is_taken(entry + std::string(k_map_suffix))) ::unlink(path.c_str());
    }
    if (!path.ends_with(k_map_suffix)) return;
    try {
      UnitMap map(path);
      const std::vector<UnitRun> abandoned = map.claim_abandoned(slots);
      if (abandoned.empty()) return;
      const File data = data_of(path).value_or(File());  // of a pinned file only the claims are given up
      for (const UnitRun& run : abandoned) remove_claimed(map, data, run, slots.token());
    } catch (const Error&) {  // not a map: evict() removes it
    }
  });
}

namespace {

/// One choice of victims, and their removal.
class Eviction {
 public:
  Eviction(const std::string& files, const OrderTable& orders, Tick now, std::uint32_t token)
      : files_(files), ranking_(orders, now), token_(token) {}

  /// Returns the bytes removed, which are less than `bytes` if victims turn out to be pinned: the next call leaves
  /// those out.
  std::uint64_t remove(std::uint64_t bytes) {
    entries_.clear();
    removed_ = 0;
    rank();
    if (removed_ < bytes) remove_victims(choose(bytes_of_rank_, bytes - removed_));
    return removed_;
  }
  std::size_t num_pinned() const { return pinned_.size(); }

 private:
  struct Entry {
    std::string path;
    std::unique_ptr<UnitMap> map;
  };

  void rank() {
    bytes_of_rank_.assign(Ranking::k_num_ranks, 0);
    for_each_file(files_, [&](const std::string& path) {
      if (path.ends_with(k_kept_suffix)) {
        bytes_of_rank_[ranking_.rank(last_use_of(path))] += disk_bytes(path);
        entries_.push_back({path, nullptr});
      } else if (path.ends_with(k_map_suffix) && !pinned_.contains(path)) {
        rank_units(path);
      }
    });
  }

  void rank_units(const std::string& path) {
    auto map = open_map(path);
    if (!map) return;
    for_each_unit(*map, ranking_, [&](std::uint64_t, std::uint32_t rank) { bytes_of_rank_[rank] += k_unit_bytes; });
    // There may be more maps than a process may have mappings.
    if (entries_.size() >= k_max_kept_open) map.reset();
    entries_.push_back({path, std::move(map)});
  }

  std::unique_ptr<UnitMap> open_map(const std::string& path) {
    try {
      return std::make_unique<UnitMap>(path);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::damaged) removed_ += remove_entry(path);
      return nullptr;
    }
  }

  void remove_victims(Victims victims) {
    for (Entry& entry : entries_) {
      if (entry.path.ends_with(k_kept_suffix)) {
        const std::uint64_t size = disk_bytes(entry.path);
        if (victims.take(ranking_.rank(last_use_of(entry.path)), size) && ::unlink(entry.path.c_str()) == 0)
          removed_ += size;
        continue;
      }
      const std::unique_ptr<UnitMap> map = entry.map ? std::move(entry.map) : open_map(entry.path);
      if (map) remove_units(entry.path, *map, victims);
    }
  }

  void remove_units(const std::string& path, UnitMap& map, Victims& victims) {
    const std::vector<UnitRun> chosen = victims_of(map, ranking_, victims);
    if (chosen.empty()) return;
    const std::optional<File> data = data_of(path);
    if (!data) {
      pinned_.insert(path);
      return;
    }
    for (const UnitRun& part : chosen) {
      for (const UnitRun& run : map.claim_present(part, token_)) removed_ += remove_claimed(map, *data, run, token_);
    }
  }

  static constexpr std::size_t k_max_kept_open = 1024;

  const std::string& files_;
  Ranking ranking_;
  const std::uint32_t token_;
  std::vector<std::uint64_t> bytes_of_rank_;
  std::vector<Entry> entries_;
  std::set<std::string> pinned_;
  std::uint64_t removed_ = 0;
};

}  // namespace

std::uint64_t evict(const std::string& files, std::uint64_t bytes, const OrderTable& orders, Tick now,
                    std::uint32_t token) {
  Eviction eviction(files, orders, now, token);
  std::uint64_t removed = 0;
  for (std::size_t num_pinned = 0;; num_pinned = eviction.num_pinned()) {
    removed += eviction.remove(bytes - removed);
    if (removed >= bytes || eviction.num_pinned() == num_pinned) return removed;
  }
}

}  // namespace bale
