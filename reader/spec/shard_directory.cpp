#include "bale/reader/spec/shard_directory.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/files/directory_entries.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/layer.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/formats/shard/seek_point_file.hpp"
#include "bale/formats/shard/shard_name.hpp"
#include "bale/reader/spec/directory_content.hpp"
#include "bale/reader/version.hpp"

namespace bale {
namespace {

bool is_recognized(const std::string& path) {
  try {
    probe_format(path);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Whether the name is that of a file of a format that bale only reads.
bool is_called_as_read(const Format& format, std::string_view name) {
  return std::any_of(format.read_suffixes.begin(), format.read_suffixes.end(),
                     [&](std::string_view suffix) { return name.size() > suffix.size() && name.ends_with(suffix); });
}

/// Whether shards or images are in a directory, by the names of its first entries.
bool has_samples(const std::string& directory) {
  constexpr int k_enough = 1000;
  std::error_code error;
  int num_looked_at = 0;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (is_called_as_shard(name) || is_image_name(name)) return true;
    if (++num_looked_at == k_enough) break;
  }
  return false;
}

/// What files of one kind have in common: the extension, or else the name without its numbers.
std::string kind_of(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  if (dot != std::string::npos) return name.substr(dot);
  std::string letters = name;
  std::erase_if(letters, [](char c) { return c >= '0' && c <= '9'; });
  return letters;
}

}  // namespace

bool is_called_as_shard(const std::string& given) {
  const std::string name = lower_case(given);
  for (const Format* format : formats()) {
    for (const Layout& layout : format->layouts) {
      if (has_shard_name(layout, name)) return true;
    }
    if (is_called_as_read(*format, name)) return true;
  }
  return false;
}

bool is_beside_shards(const std::string& path) {
  const std::string name = base_name(path);
  if (name == k_manifest_name || name == k_ledger_name) return true;
  if (name == k_quarantine_name || name == k_versions_name)
    return path_exists(join_name(parent_directory(path), k_manifest_name));
  for (const std::string& suffix : {index_path({}), seek_point_path({}), old_seek_point_path({})}) {
    if (name.ends_with(suffix)) return true;
  }
  for (const Format* format : formats()) {
    for (const Layout& layout : format->layouts) {
      const auto ends_so = [&](const Sidecar& sidecar) { return name.ends_with(sidecar.suffix); };
      const auto is_called_so = [&](const ShardList& list) { return name == list.file; };
      if (std::any_of(layout.sidecars.begin(), layout.sidecars.end(), ends_so)) return true;
      if (std::any_of(layout.lists.begin(), layout.lists.end(), is_called_so)) return true;
    }
  }
  return false;
}

std::optional<std::vector<std::string>> shards_in_own_list(const std::string& directory) {
  for (const Format* format : formats()) {
    if (format->list == nullptr) continue;
    if (auto names = format->list(directory)) {
      for (std::string& name : *names) name = join_name(directory, name);
      return names;
    }
  }
  return std::nullopt;
}

std::vector<std::string> classes_in_own_lists(const std::vector<std::string>& shards) {
  std::vector<std::string> classes;
  std::string first;
  std::set<std::string> seen;
  for (const std::string& shard : shards) {
    const std::string directory = parent_directory(shard);
    for (const Format* format : formats()) {
      if (format->classes == nullptr || !is_called_as_read(*format, base_name(shard))) continue;
      if (!seen.insert(directory).second) continue;
      std::vector<std::string> own = format->classes(directory);
      if (seen.size() > 1 && own != classes) {
        throw Error(ErrorCode::invalid_argument, fmt::format("other names of classes than {}", printable(first)),
                    {.path = directory, .hint = "read the directories as a::b, which merges classes by name"});
      }
      first = directory;
      classes = std::move(own);
    }
  }
  return classes;
}

namespace {

bool has_shards(const std::string& directory) {
  bool found = false;
  try {
    found = shards_in_own_list(directory).has_value();
    for_each_entry(directory, [&](const std::filesystem::directory_entry& entry) {
      const std::string name = entry.path().filename().string();
      found = found || (!name.starts_with('.') && is_called_as_shard(name));
    });
  } catch (const Error& error) {
    return error.code() == ErrorCode::damaged;  // a list that is cut
  }
  return found;
}

/// What to do with a directory without shards. The first in it that has some is named.
std::string hint_without_shards(const std::string& directory) {
  std::vector<std::string> below;
  for_each_entry(directory, [&](const std::filesystem::directory_entry& entry) {
    std::error_code unknown;
    if (!entry.path().filename().string().starts_with('.') && entry.is_directory(unknown)) {
      below.push_back(entry.path().string());
    }
  });
  std::sort(below.begin(), below.end());
  const auto first = std::find_if(below.begin(), below.end(), has_shards);
  if (first != below.end()) return fmt::format("name the directory of the shards, such as {}", printable(*first));
  return absent_formats().empty() ? "give a packed dataset, or pack the folder first" : absent_formats_hint();
}

}  // namespace

std::vector<std::string> list_shards(const std::string& directory) {
  if (path_exists(join_path(directory, k_partial_name))) {
    throw Error(
        ErrorCode::damaged, "an unfinished pack: it has no manifest.json yet",
        {.path = directory,
         .hint = "finish it with `bale pack ... --resume`, with bale.Writer(..., resume=True) if a Writer made it, "
                 "or with `bale merge` if it is packed in parts"});
  }
  if (auto listed = shards_in_own_list(directory)) return std::move(*listed);
  std::vector<std::string> files;
  for_each_entry(directory, [&](const std::filesystem::directory_entry& entry) {
    const std::string path = entry.path().string();
    const std::string name = base_name(path);
    if (name.starts_with('.') || is_beside_shards(path)) return;
    std::error_code unknown;  // of what need not be a shard
    if (is_called_as_shard(name) ? is_file(entry) : entry.is_regular_file(unknown)) files.push_back(path);
  });
  std::sort(files.begin(), files.end());
  std::vector<std::string> shards;
  std::copy_if(files.begin(), files.end(), std::back_inserter(shards), is_called_as_shard);
  if (shards.empty()) std::copy_if(files.begin(), files.end(), std::back_inserter(shards), is_recognized);
  if (shards.empty()) {
    const DirectoryContent content = directory_content(directory);
    if (!content.datasets.empty()) throw Error(no_dataset_error(directory, content, ErrorCode::not_found));
    throw Error(ErrorCode::not_found, "no manifest.json and no packed shards in this directory",
                {.path = directory, .hint = hint_without_shards(directory)});
  }
  return shards;
}

bool has_lost_layers(const std::string& directory) {
  if (remote_storage_of(directory) != nullptr || path_exists(join_path(directory, k_manifest_name))) return false;
  bool found = false;
  const std::string layers = join_path(directory, k_layers_name);
  if (!path_exists(layers)) return false;
  for_each_entry(layers, [&](const std::filesystem::directory_entry& entry) {
    found = found || entry.path().extension() == k_layer_suffix;
  });
  return found;
}

NoticeLog not_read_beside(const std::vector<std::string>& shards, const std::string& directory) {
  const std::set<std::string> known(shards.begin(), shards.end());
  std::map<std::string, bool> is_directory;  // by path, in order
  NoticeLog log;
  if (remote_storage_of(directory) != nullptr) return log;
  const auto take = [&](const std::filesystem::directory_entry& entry) {
    const std::string path = entry.path().string();
    if (entry.path().filename().string().starts_with('.') || known.contains(path) || is_beside_shards(path)) return;
    std::error_code unknown;
    const bool is_regular = entry.is_regular_file(unknown);
    if (is_regular || entry.is_directory(unknown)) is_directory[path] = !is_regular;
  };
  try {
    for_each_entry(directory, take);
  } catch (const Error& error) {  // its list of shards could be read
    log.add(directory, "a directory that cannot be listed");
  }
  std::map<std::string, bool> has_shards;  // by kind_of()
  for (const auto& [path, is_below] : is_directory) {
    const std::string name = base_name(path);
    if (is_below) {
      if (has_samples(path)) log.add(path, "a directory next to shards");
    } else if (is_image_name(name)) {
      log.add(path, "an image next to shards");
    } else if (!is_called_as_shard(name)) {  // else a list next to it leaves it out
      const auto [kind, is_new] = has_shards.try_emplace(kind_of(name));
      if (is_new) kind->second = is_recognized(path);
      if (kind->second) log.add(path, "not named as a shard, although its content is one");
    }
  }
  return log;
}

}  // namespace bale
