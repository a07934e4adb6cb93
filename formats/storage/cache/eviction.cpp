#include "bale/formats/storage/cache/eviction.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
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
constexpr std::uint64_t k_block_bytes = 512;  // of st_blocks

/// A part that can be removed: a region of a map.
struct Candidate {
  std::size_t entry;
  std::uint64_t region;
  std::uint32_t last_use;
};

struct Entry {
  std::string path;
  std::shared_ptr<UnitMap> map;
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

/// Removes the present units of a region. Returns their bytes.
std::uint64_t remove_region(const Entry& entry, std::uint64_t region, std::uint32_t token) {
  std::optional<File> data;
  try {
    data = File::open_update(data_path_of(entry.path));
  } catch (const Error&) {  // removed by hand: the units go all the same
  }
  if (data && ::flock(data->fd(), LOCK_EX | LOCK_NB) != 0) return 0;  // CachedFile::pin()
  std::uint64_t bytes = 0;
  for (const UnitRun& run : entry.map->claim_present(entry.map->units_of_region(region), token)) {
    const auto offset = static_cast<off_t>(run.first * k_unit_bytes);
    const auto length = static_cast<off_t>(run.size() * k_unit_bytes);
    const bool is_punched =
        data && ::fallocate(data->fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length) == 0;
    entry.map->release(run, token);
    if (is_punched || !data) bytes += run.size() * k_unit_bytes;
  }
  return bytes;
}

}  // namespace

EvictionLock::EvictionLock(const std::string& path) : file_(open_shared_file(path, 1)) {
  while (::flock(file_.fd(), LOCK_EX) != 0) {
    if (errno != EINTR) throw_errno("lock", path);
  }
}

std::uint64_t content_bytes(const std::string& files) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator at(files, error), end; !error && at != end; at.increment(error)) {
    remove_stale_temporaries(at->path().string());
  }
  for_each_file(files, [&](const std::string& path) { bytes += disk_bytes(path); });
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

std::uint64_t evict_least_recently_used(const std::string& files, std::uint64_t bytes, std::uint32_t token) {
  std::vector<Entry> entries;
  std::vector<Candidate> candidates;
  std::uint64_t removed = 0;
  for_each_file(files, [&](const std::string& path) {
    if (!path.ends_with(k_map_suffix)) return;
    try {
      const auto map = std::make_shared<UnitMap>(path);
      for (std::uint64_t region = 0; region < map->num_regions(); ++region) {
        if (map->num_present(region) > 0) candidates.push_back({entries.size(), region, map->last_use(region)});
      }
      entries.push_back({path, map});
    } catch (const Error& error) {
      if (error.code() == ErrorCode::damaged) removed += remove_entry(path);
    }
  });
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.last_use < b.last_use; });
  for (const Candidate& candidate : candidates) {
    if (removed >= bytes) break;
    removed += remove_region(entries[candidate.entry], candidate.region, token);
  }
  return removed;
}

}  // namespace bale
