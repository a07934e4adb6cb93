// How many samples the shards of a dataset have: from the manifest, or by opening them, at once or while they are read.
#include "bale/reader/dataset/dataset_state.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/system/threads.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/current_index.hpp"
#include "bale/formats/shard/index/index_memory.hpp"

namespace bale {
namespace {

constexpr unsigned k_opened_together = 8;   // remote shards
constexpr std::size_t k_scanned_ahead = 4;  // of the shard that is being read
constexpr std::size_t k_local_ahead = 1;    // likewise, on a disk
/// Between the scan of a shard and the last of its samples, the shards ahead of it are fetched and those before it are
/// read. All of these have to fit into the cache.
constexpr std::uint64_t k_share_ahead = 3;

}  // namespace

void Dataset::State::count_samples() {
  shards = std::make_unique<OpenShards>(
      entries.size(),
      [this](std::size_t number, const Format* format, const std::shared_ptr<const ShardIndex>& index) {
        return open(number, format, index);
      },
      options.salvage ? std::numeric_limits<std::uint64_t>::max()
                      : options.index_budget);  // entries keep salvaged indexes
  if (options.index_memory && shards->closes()) options.index_memory->set_limit(options.index_budget);
  counter = std::make_unique<ShardCounter>(entries.size(), [this](std::size_t number) { return count(number); });
  if (options.counting != Counting::when_opened && !has_shard_to_scan()) options.counting = Counting::when_opened;
  if (options.counting != Counting::when_opened) return start_scan_ahead();
  open_unlisted_remote();
  counter->count_all();
}

bool Dataset::State::is_fetched_whole(std::uint64_t bytes, const Storage& storage) const {
  const std::uint64_t room = storage.cache().bytes();
  if (options.counting == Counting::while_read && !counts_first) return bytes <= room / k_share_ahead;
  return bytes <= room / std::max<std::size_t>(entries.size(), 1);  // about as many bytes in each of them
}

void Dataset::State::open_unlisted_remote() {
  std::vector<std::size_t> unlisted;
  const Storage* storage = nullptr;
  for (std::size_t number = 0; number < entries.size(); ++number) {
    if (entries[number].expected != nullptr || entries[number].index) continue;
    if (const Storage* const served = remote_storage_of(entries[number].path)) {
      storage = served;
      unlisted.push_back(number);
    }
  }
  if (unlisted.empty()) return;
  std::atomic<std::uint64_t> bytes{0};
  run_parallel(unlisted.size(), k_opened_together,
               [&](std::size_t i) { bytes += file_size(entries[unlisted[i]].path).value_or(0); });
  const bool has_room = bytes.load() <= storage->cache().bytes();
  run_parallel(unlisted.size(), k_opened_together, [&](std::size_t i) {
    const std::string& path = entries[unlisted[i]].path;
    const File file = File::open_read(path);  // while it is open, what is fetched is known
    const bool scans = needs_scan(path);
    if (scans) report_scan();
    if (has_room && scans) file.advise_will_need(0, file.size());
    shards->use_index(unlisted[i]);
  });
}

void Dataset::State::report_scan() const {
  if (!options.on_scan) return;
  const std::lock_guard lock(scan_mutex);
  options.on_scan(num_scanned++, entries.size());
}

std::uint64_t Dataset::State::count(std::size_t number) {
  const Entry& entry = entries[number];
  if (scan_ahead && !is_counted_at_once(number)) scan_ahead->reached(number);
  if (entry.expected != nullptr) return entry.index ? entry.index->size() : entry.expected->num_samples;
  const bool is_local = remote_storage_of(entry.path) == nullptr;
  if (options.on_scan && is_local && !entry.index && !path_exists(index_path(entry.path))) report_scan();
  const IndexInUse index = shards->use_index(number);
  notices.merge(index->notices(), entry.path);
  find_lists(*index);
  for (const FieldInfo& field : index->fields()) add_field(field.name);
  return index->size();
}

void Dataset::State::find_lists(const ShardIndex& index) {
  constexpr std::string_view k_list = ".json";
  const auto warn = [this](std::string_view name) {
    notices.warn(
        fmt::format("the field {0} of some shards is {0}.json in others, in which it has several values: "
                    "name both, each as an optional field",
                    printable(name)));
  };
  for (const FieldInfo& field : index.fields()) {
    if (field.located) {
      const std::string list = field.name + std::string(k_list);
      if (list_fields.contains(list) && !index.field_id(list)) warn(field.name);
    } else if (field.name.ends_with(k_list)) {
      list_fields.insert(field.name);
      const std::string name = field.name.substr(0, field.name.size() - k_list.size());
      if (known_fields.contains(name) && !index.field_id(name)) warn(name);
    }
  }
}

bool Dataset::State::is_counted_at_once(std::size_t number) const {
  return entries[number].expected != nullptr || shards->has_index(number);
}

bool Dataset::State::has_shard_to_scan() const {
  const auto first = std::find_if(entries.begin(), entries.end(),
                                  [](const Entry& entry) { return entry.expected == nullptr && !entry.index; });
  try {
    return first != entries.end() && !path_exists(index_path(first->path));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::interrupted) throw;
    return false;  // opening the shard says what is wrong
  }
}

void Dataset::State::start_scan_ahead() {
  const bool reads = options.counting == Counting::while_read;
  const auto is_opened_ahead = [reads](const Entry& entry) {
    return entry.expected == nullptr && !entry.index && (reads || remote_storage_of(entry.path) != nullptr);
  };
  if (std::none_of(entries.begin(), entries.end(), is_opened_ahead)) return;
  const Storage* storage = nullptr;
  for (auto entry = entries.begin(); entry != entries.end() && storage == nullptr; ++entry) {
    if (is_opened_ahead(*entry)) storage = remote_storage_of(entry->path);
  }
  const bool is_cached = reads && storage != nullptr && storage->cache().bytes() > 0;
  const std::size_t ahead_of_server = is_cached ? k_scanned_ahead : k_opened_together;
  scan_ahead = std::make_unique<ShardScanner>(ScanAheadOptions{
      .num_shards = entries.size(),
      .shards_ahead = storage == nullptr ? k_local_ahead : ahead_of_server,
      .bytes_ahead = is_cached ? storage->cache().bytes() / k_share_ahead : std::numeric_limits<std::uint64_t>::max(),
      .size_of = [this, is_opened_ahead](std::size_t number) -> std::uint64_t {
        return is_opened_ahead(entries[number]) ? file_size(entries[number].path).value_or(0) : 0;
      },
      .open =
          [this, is_opened_ahead](std::size_t number) {
            if (is_opened_ahead(entries[number])) shards->use_index(number);
          }});
}

}  // namespace bale
