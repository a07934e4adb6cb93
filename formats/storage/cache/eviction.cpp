#include "bale/formats/storage/cache/eviction.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/temporary_file.hpp"
#include "bale/formats/storage/cache/shared_file.hpp"
#include "bale/formats/storage/cache/unit_map.hpp"

namespace bale {
namespace {

constexpr std::string_view k_map_suffix = ".map";
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
  return map_path.substr(0, map_path.size() - k_map_suffix.size()) + ".data";
}

/// The file of a map's content, locked against CachedFile::pin(); nullopt if it is pinned. A file that was removed by hand
/// has no descriptor.
std::optional<File> data_of(const std::string& map_path) {
  try {
    File data = File::open_update(data_path_of(map_path));
    if (::flock(data.fd(), LOCK_EX | LOCK_NB) != 0) return std::nullopt;
    return data;
  } catch (const Error&) {
    return File();
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

/// Removes the victims among the units of a map. Returns their bytes.
std::uint64_t remove_units(UnitMap& map, const File& data, Ranking& ranking, Victims& victims, std::uint32_t token) {
  std::vector<UnitRun> chosen;
  for_each_unit(map, ranking, [&](std::uint64_t unit, std::uint32_t rank) {
    if (!victims.take(rank, k_unit_bytes)) return;
    if (chosen.empty() || chosen.back().end != unit) chosen.push_back({unit, unit});
    chosen.back().end = unit + 1;
  });
  std::uint64_t bytes = 0;
  for (const UnitRun& part : chosen) {
    for (const UnitRun& run : map.claim_present(part, token)) {
      const auto offset = static_cast<off_t>(run.first * k_unit_bytes);
      const auto length = static_cast<off_t>(run.size() * k_unit_bytes);
      const bool is_punched =
          data.is_open() && ::fallocate(data.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length) == 0;
      map.release(run, token);
      if (is_punched || !data.is_open()) bytes += run.size() * k_unit_bytes;
    }
  }
  return bytes;
}

/// A kept file has no map: its time of change is that of its last use.
Tick last_use_of(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<Tick>(info.st_mtim.tv_sec * k_ticks_per_second) : 0;
}

}  // namespace

EvictionLock::EvictionLock(const std::string& path) : file_(open_shared_file(path, 1)) {
  while (::flock(file_.fd(), LOCK_EX) != 0) {
    if (errno != EINTR) throw_errno("lock", path);
  }
}

std::uint64_t content_bytes(const std::string& directory) {
  std::uint64_t bytes = disk_bytes(directory);
  std::error_code error;
  std::filesystem::recursive_directory_iterator at(directory, error);
  for (; !error && at != std::filesystem::recursive_directory_iterator(); at.increment(error)) {
    const std::string path = at->path().string();
    if (at->is_directory(error)) remove_stale_temporaries(path);
    bytes += disk_bytes(path);
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

std::uint64_t evict(const std::string& files, std::uint64_t bytes, const OrderTable& orders, Tick now,
                    std::uint32_t token) {
  std::uint64_t removed = 0;
  std::vector<std::uint64_t> bytes_of_rank(Ranking::k_num_ranks);
  Ranking ranking(orders, now);
  // Maps are opened twice, and not kept open: there may be more of them than a process may have mappings.
  const auto for_each_entry = [&](const auto& each_map, const auto& each_kept) {
    for_each_file(files, [&](const std::string& path) {
      if (path.ends_with(k_kept_suffix)) each_kept(path, ranking.rank(last_use_of(path)));
      if (!path.ends_with(k_map_suffix)) return;
      const std::optional<File> data = data_of(path);
      if (!data) return;
      try {
        UnitMap map(path);
        each_map(map, *data);
      } catch (const Error& error) {
        if (error.code() == ErrorCode::damaged) removed += remove_entry(path);
      }
    });
  };
  for_each_entry(
      [&](UnitMap& map, const File&) {
        for_each_unit(map, ranking, [&](std::uint64_t, std::uint32_t rank) { bytes_of_rank[rank] += k_unit_bytes; });
      },
      [&](const std::string& path, std::uint32_t rank) { bytes_of_rank[rank] += disk_bytes(path); });
  if (removed >= bytes) return removed;
  Victims victims = choose(bytes_of_rank, bytes - removed);
  for_each_entry(
      [&](UnitMap& map, const File& data) { removed += remove_units(map, data, ranking, victims, token); },
      [&](const std::string& path, std::uint32_t rank) {
        const std::uint64_t size = disk_bytes(path);
        if (victims.take(rank, size) && ::unlink(path.c_str()) == 0) removed += size;
      });
  return removed;
}

}  // namespace bale
