#include "bale/formats/storage/remote_cache.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/system/fork_mutex.hpp"
#include "bale/formats/storage/cache/cache_directory.hpp"
#include "bale/formats/storage/cache/cache_settings.hpp"
#include "bale/formats/storage/cache/entries/eviction.hpp"

namespace bale {
namespace {

ForkMutex g_warning_mutex;
std::function<void(const std::string&)> g_warning_handler;  // guarded by it, as what follows
bool g_is_warned = false;

constexpr std::uint64_t k_max_record_bytes = 64 << 10;

CacheSettings settings_of_environment() {
  CacheSettings settings = cache_settings();
  if (settings.directory.empty()) {
    throw Error(ErrorCode::invalid_argument, "there is no cache", {.hint = "name its directory in BALE_CACHE_DIR"});
  }
  return settings;
}

struct Record {
  std::string name;
  std::int64_t time = 0;
  std::string pin{};   // digest of the shard that it belongs to
  std::string path{};  // of the record
};

/// What the catalog has recorded, by the entry that holds the content.
std::map<std::string, Record> records_below(const std::vector<std::string>& paths) {
  std::map<std::string, Record> records;
  for (const std::string& path : paths) {
    struct stat info {};
    if (!path.ends_with(".url") || ::stat(path.c_str(), &info) != 0) continue;
    try {
      const Json json = parse_json(as_text(read_file(path, k_max_record_bytes)));
      records[json.text("content")] = {json.bytes("name"), info.st_mtim.tv_sec, json.text_or_empty("pin"), path};
    } catch (const Error&) {  // the next process that needs it writes it again
    }
  }
  return records;
}

/// Whether a cache that cannot be used has content: on a file system without locks it never had any.
bool has_files_below(const std::string& cache) {
  std::error_code error;
  const std::filesystem::recursive_directory_iterator end;
  std::filesystem::recursive_directory_iterator at(join_path(cache, "files"), error);
  for (; !error && at != end; at.increment(error)) {
    if (!at->is_directory(error)) return true;
  }
  return error && error != std::errc::no_such_file_or_directory;
}

struct Entry {
  std::string map_path;
  std::string data_path;
  std::unique_ptr<UnitMap> map;
  Record record;
};

std::uint64_t cached_bytes_of(const UnitMap& map) {
  std::uint64_t units = 0;
  for (std::uint64_t region = 0; region < map.num_regions(); ++region) units += map.num_present(region);
  return std::min(units * k_unit_bytes, map.file_bytes());
}

}  // namespace

void set_cache_warning_handler(std::function<void(const std::string&)> handler) {
  const std::lock_guard lock(g_warning_mutex);
  g_warning_handler = std::move(handler);
}

void warn_of_cache(const std::string& what) {
  std::function<void(const std::string&)> handler;
  {
    const std::lock_guard lock(g_warning_mutex);
    if (!std::exchange(g_is_warned, true)) handler = g_warning_handler;
  }
  if (handler) handler(what);
}

struct RemoteCache::State {
  CacheSettings settings = settings_of_environment();
  std::optional<CacheDirectory> cache;  // nullopt: there is none yet

  State() {
    CacheDirectory::check_limit(settings);
    if (name_is_taken(join_path(settings.directory, k_cache_name))) cache.emplace(settings, true);
  }

  std::vector<std::string> paths() const {
    std::vector<std::string> found;
    if (!cache) return found;
    std::error_code error;
    const std::filesystem::recursive_directory_iterator end;
    for (std::filesystem::recursive_directory_iterator at(cache->files(), error); !error && at != end;
         at.increment(error)) {
      std::error_code gone;
      if (at->is_regular_file(gone)) found.push_back(at->path().string());
    }
    if (error && error != std::errc::no_such_file_or_directory) {
      throw Error(ErrorCode::io, "cannot list", {.path = cache->files(), .system_error = error.value()});
    }
    return found;
  }

  /// Entries with a good map, by name. What another process removes in the meantime is left out.
  std::vector<Entry> entries() const {
    const std::vector<std::string> found = paths();
    const std::map<std::string, Record> records = records_below(found);
    std::vector<Entry> entries;
    for (const std::string& path : found) {
      const std::filesystem::path map_path(path);
      if (map_path.extension() != ".map") continue;
      try {
        Entry entry{.map_path = path,
                    .data_path = std::filesystem::path(map_path).replace_extension(".data").string(),
                    .map = std::make_unique<UnitMap>(path),
                    .record = {}};
        if (const auto known = records.find(map_path.stem().string()); known != records.end())
          entry.record = known->second;
        entries.push_back(std::move(entry));
      } catch (const Error& error) {
        if (error.code() == ErrorCode::io || is_lack_of_resources(error)) throw;
      }
    }
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& a, const Entry& b) { return a.record.name < b.record.name; });
    return entries;
  }

  /// Returns the bytes that were on the disk. Call it with the lock of a removal.
  std::uint64_t remove(std::vector<std::string> paths) {
    std::uint64_t bytes = 0;
    // Maps first: who is killed leaves no map without its content.
    std::partition(paths.begin(), paths.end(), [](const std::string& path) { return path.ends_with(".map"); });
    for (const std::string& path : paths) {
      struct stat info {};
      if (::stat(path.c_str(), &info) == 0 && ::unlink(path.c_str()) == 0) {
        bytes += static_cast<std::uint64_t>(info.st_blocks) * 512;
      }
    }
    cache->removed(bytes);
    return bytes;
  }

  /// Returns the bytes that were wrong. Of an entry that another process removes in the meantime nothing is.
  std::uint64_t check(const Entry& entry, Progress& progress) {
    // Removed, maps go first. So the content is opened first: what is there after the map is what the map is of.
    const auto open_data = [&] {
      return opened([&] { return bale::File::open_update(entry.data_path); }).value_or(bale::File());
    };
    bale::File data = open_data();
    const auto map = opened([&] { return std::make_unique<UnitMap>(entry.map_path); });
    if (!map) return 0;
    if (!data.is_open()) data = open_data();  // made in the meantime, after the map
    const std::uint32_t token = cache->slots().token();
    std::vector<std::byte> buffer(k_units_per_region * k_unit_bytes);
    std::uint64_t wrong = 0;
    for (std::uint64_t region = 0; region < (*map)->num_regions(); ++region) {
      progress.throw_if_stopped();
      const UnitRun units = (*map)->units_of_region(region);
      const std::uint64_t offset = units.first * k_unit_bytes;
      const std::size_t got = read_most(data, offset, buffer);
      for (std::uint64_t unit = units.first; unit < units.end; ++unit) {
        if (!(*map)->is_present(unit)) continue;
        const std::uint32_t expected = (*map)->crc_of(unit);
        const std::uint64_t begin = unit * k_unit_bytes - offset;
        const std::uint64_t size = std::min(k_unit_bytes, (*map)->file_bytes() - unit * k_unit_bytes);
        progress.bytes += size;
        const MutableBytes content = MutableBytes(buffer).subspan(begin, size);
        if (begin + size <= got && crc32c(content) == expected) continue;
        // It may have been fetched after it was read.
        if (read_most(data, unit * k_unit_bytes, content) == size && crc32c(content) == expected) continue;
        if (data.is_open() ? is_removed(data) : !name_is_taken(entry.map_path)) return 0;
        if (!(*map)->claim_wrong(unit, expected, token)) continue;  // evicted in the meantime
        cache->removed(remove_claimed(**map, data, {unit, unit + 1}, token));
        wrong += size;
      }
    }
    return wrong;
  }

 private:
  /// Nothing if the file cannot be opened.
  template <typename Open>
  static auto opened(const Open& open) -> std::optional<decltype(open())> {
    try {
      return open();
    } catch (const Error& error) {
      if (is_lack_of_resources(error)) throw;
      return std::nullopt;
    }
  }

  /// Bytes that could be read: fewer at the end, and before a bad place of the disk.
  static std::size_t read_most(const bale::File& file, std::uint64_t offset, MutableBytes out) {
    std::size_t got = 0;
    try {
      while (file.is_open() && got < out.size()) {
        const std::size_t now = file.read_some(offset + got, out.subspan(got));
        if (now == 0) break;
        got += now;
      }
    } catch (const Error&) {
    }
    return got;
  }

  static bool is_removed(const bale::File& file) {
    struct stat info {};
    return ::fstat(file.fd(), &info) == 0 && info.st_nlink == 0;
  }
};

RemoteCache::RemoteCache() : state_(std::make_unique<State>()) {}
RemoteCache::~RemoteCache() = default;
RemoteCache::RemoteCache(RemoteCache&&) noexcept = default;
RemoteCache& RemoteCache::operator=(RemoteCache&&) noexcept = default;

const std::string& RemoteCache::directory() const { return state_->settings.directory; }
std::uint64_t RemoteCache::limit_bytes() const {
  if (state_->cache) return state_->cache->limit_bytes();
  const CacheSettings& settings = state_->settings;
  return settings.limit_bytes != 0 ? settings.limit_bytes : CacheDirectory::default_limit(settings.directory, 0);
}
std::uint64_t RemoteCache::used_bytes() const { return state_->cache ? state_->cache->used_bytes() : 0; }

std::vector<RemoteCache::File> RemoteCache::files() const {
  std::vector<File> files;
  for (const Entry& entry : state_->entries()) {
    files.push_back({.name = entry.record.name,
                     .bytes = entry.map->file_bytes(),
                     .cached_bytes = cached_bytes_of(*entry.map),
                     .last_use_s = entry.record.time});
  }
  return files;
}

RemoteCache::CheckReport RemoteCache::check(Progress& progress) {
  const std::vector<Entry> entries = state_->entries();
  for (const Entry& entry : entries) progress.total_bytes += cached_bytes_of(*entry.map);
  CheckReport report{.num_files = entries.size()};
  for (const Entry& entry : entries) {
    if (const std::uint64_t wrong = state_->check(entry, progress))
      report.damages.push_back({entry.record.name, wrong});
  }
  report.num_bytes = progress.bytes;
  return report;
}

std::uint64_t RemoteCache::trim(std::uint64_t down_to) {
  const std::uint64_t before = used_bytes();
  if (state_->cache) state_->cache->trim(down_to);
  const std::uint64_t after = used_bytes();
  return before > after ? before - after : 0;
}

std::uint64_t RemoteCache::clear() {
  if (!state_->cache) return 0;
  const CacheDirectory::Removal removal(*state_->cache);
  return state_->remove(state_->paths());
}

std::uint64_t remove_from_cache(const UnwantedFiles& unwanted) {
  const CacheSettings settings = cache_settings();
  if (settings.directory.empty() || !name_is_taken(join_path(settings.directory, k_cache_name))) return 0;
  std::optional<RemoteCache> cache;
  try {
    cache.emplace();
  } catch (const Error&) {
    if (!has_files_below(join_path(settings.directory, k_cache_name))) return 0;
    throw;
  }
  RemoteCache::State& state = *cache->state_;
  if (!state.cache) return 0;
  const CacheDirectory::Removal removal(*state.cache);
  std::vector<std::string> paths;
  for (const Entry& entry : state.entries()) {
    const std::string& pin = entry.record.pin;
    if (!pin.empty() ? unwanted.digests.contains(pin) : unwanted.sizes.contains(entry.map->file_bytes())) {
      paths.insert(paths.end(), {entry.map_path, entry.data_path});
      if (!entry.record.path.empty()) paths.push_back(entry.record.path);
    }
  }
  for (const std::string& path : state.paths()) {
    if (path.ends_with(".kept")) paths.push_back(path);
  }
  return state.remove(std::move(paths));
}

void check_cache_settings() { CacheDirectory::check_limit(cache_settings()); }

}  // namespace bale
