#include "bale/reader/spec/shard_directory.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/manifest.hpp"
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

}  // namespace

bool is_called_as_shard(const std::string& name) {
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

std::vector<std::string> list_shards(const std::string& directory) {
  std::error_code error;
  if (std::filesystem::exists(join_path(directory, k_partial_name), error)) {
    throw Error(
        ErrorCode::damaged, "an unfinished pack: it has no manifest.json yet",
        {.path = directory,
         .hint = "finish it with `bale pack ... --resume`, with bale.Writer(..., resume=True) if a Writer made it, "
                 "or with `bale merge` if it is packed in parts"});
  }
  if (auto listed = shards_in_own_list(directory)) return std::move(*listed);
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.is_regular_file(error) && !entry.path().filename().string().starts_with('.')) {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> shards;
  std::copy_if(files.begin(), files.end(), std::back_inserter(shards), is_called_as_shard);
  if (shards.empty()) std::copy_if(files.begin(), files.end(), std::back_inserter(shards), is_recognized);
  if (shards.empty()) {
    const DirectoryContent content = directory_content(directory);
    if (!content.datasets.empty()) throw Error(no_dataset_error(directory, content, ErrorCode::not_found));
    throw Error(
        ErrorCode::not_found, "no manifest.json and no packed shards in this directory",
        {.path = directory,
         .hint = absent_formats().empty() ? "give a packed dataset, or pack the folder first" : absent_formats_hint()});
  }
  return shards;
}

}  // namespace bale
