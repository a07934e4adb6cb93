#include "bale/reader/version.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/file.hpp"
#include "bale/formats/base/files/directory_entries.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/shard/layer.hpp"
#include "bale/reader/spec/dataset_identity.hpp"

namespace bale {
namespace {

constexpr std::size_t k_id_digits = 16;
constexpr std::size_t k_min_digits = 4;

bool has_id_digits(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_full_id(std::string_view text) { return text.size() == k_id_digits && has_id_digits(text); }

DatasetVersion version_of(const Manifest& manifest) {
  DatasetVersion version{.id = version_id(manifest),
                         .num_samples = manifest.num_samples,
                         .num_shards = manifest.shards.size(),
                         .parent = manifest.parent,
                         .change = manifest.change,
                         .created_by = manifest.created_by};
  for (const ManifestShard& shard : manifest.shards) version.num_bytes += shard.bytes;
  if (manifest.change.verb == "set" && !manifest.layers.empty()) {
    if (const auto field = field_of_layer(manifest.layers.back())) version.change.verb += ' ' + *field;
  }
  return version;
}

/// nullopt if it is not kept.
std::optional<DatasetVersion> load_kept(const std::string& directory, const std::string& id) {
  const std::string path = join_name(directory, kept_version(id));
  if (!path_exists(path)) return std::nullopt;
  DatasetVersion version;
  try {
    version = version_of(load_manifest(path));
  } catch (const Error& error) {
    const std::optional<GoneVersion> gone = parse_gone_version(std::string(as_text(read_file(path))));
    if (!gone) throw;
    version = {.id = gone->id, .parent = gone->parent, .gone = gone->why};
  }
  if (version.id == id) return version;
  throw Error(ErrorCode::damaged, fmt::format("is the manifest of version {}", version.id),
              {.path = path, .hint = "copy the whole dataset again"});
}

}  // namespace

std::string version_id(std::uint64_t identity) { return fmt::format("{:0{}x}", identity, k_id_digits); }

std::string version_id(const Manifest& manifest) {
  DatasetIdentity identity;
  for (const ManifestShard& shard : manifest.shards) identity.add(shard.digest);
  for (const ManifestLayer& layer : manifest.layers) identity.add(layer.digest);
  return version_id(identity.value());
}

std::string kept_version(std::string_view id) { return fmt::format("{}/{}.json", k_versions_name, id); }

std::vector<DatasetVersion> dataset_versions(const std::string& directory, const std::string& newest) {
  std::optional<DatasetVersion> kept;
  if (!newest.empty()) kept = load_kept(directory, newest);
  std::vector<DatasetVersion> versions{kept ? *std::move(kept)
                                            : version_of(load_manifest(join_name(directory, k_manifest_name)))};
  std::set<std::string> listed{versions.back().id};
  std::set<std::string> read;
  for (std::string next = versions.back().parent; !next.empty() && read.insert(next).second;) {
    std::optional<DatasetVersion> older = load_kept(directory, next);
    if (!older) break;
    next = older->parent;
    // What was a version before, and is one again, has its first parent there.
    if (listed.insert(older->id).second) versions.push_back(*std::move(older));
  }
  return versions;
}

std::vector<std::string> replaced_versions(const std::string& directory) {
  std::vector<std::string> ids;
  const std::string versions = join_name(directory, k_versions_name);
  if (const Storage* const storage = remote_storage_of(directory)) {
    for (const std::string& name : storage->list(versions)) {
      const std::string id = base_name(name).substr(0, base_name(name).find('.'));
      if (base_name(name) != base_name(kept_version(id)) || !is_full_id(id)) continue;
      if (!parse_gone_version(std::string(as_text(read_file(name))))) ids.push_back(id);
    }
    return ids;
  }
  if (!path_exists(join_path(versions, "."))) return ids;
  for_each_entry(versions, [&](const std::filesystem::directory_entry& entry) {
    const std::string id = entry.path().stem().string();
    if (entry.path().filename() != base_name(kept_version(id)) || !is_full_id(id)) return;
    if (!parse_gone_version(std::string(as_text(read_file(entry.path().string()))))) ids.push_back(id);
  });
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::optional<VersionSpec> split_version(const std::string& spec) {
  if (end_of_first_name(spec) != std::string::npos) return std::nullopt;
  const std::size_t query = begin_of_query(spec);
  const std::size_t at = spec.rfind('@', query);
  if (at == std::string::npos || at == 0 || spec[at - 1] == '/') return std::nullopt;
  const std::string id = spec.substr(at + 1, query - at - 1);
  if (id.size() < k_min_digits || id.size() > k_id_digits || !has_id_digits(id)) return std::nullopt;
  return VersionSpec{.directory = spec.substr(0, at) + spec.substr(query), .id = id};
}

bool names_version(const std::string& spec) {
  const std::optional<VersionSpec> named = split_version(spec);
  return named && !name_is_taken(spec) && path_exists(join_name(named->directory, k_manifest_name));
}

std::string with_version(const std::string& spec, std::string_view version) {
  if (version.empty()) return spec;
  if (end_of_first_name(spec) != std::string::npos) {
    throw Error(ErrorCode::invalid_argument, "a version of several datasets",
                {.path = spec, .hint = "name that of each in the list: A@ID::B@ID"});
  }
  const std::optional<VersionSpec> named = split_version(spec);
  std::string directory = named && names_version(spec) ? named->directory : spec;
  if (base_name(directory) == k_manifest_name) directory = parent_directory(directory);
  std::size_t end = begin_of_query(directory);
  while (end > 1 && directory[end - 1] == '/') directory.erase(--end, 1);
  return directory.insert(end, fmt::format("@{}", version));
}

std::string find_version(const VersionSpec& named) {
  std::set<std::string> found;
  if (is_full_id(named.id)) {  // the others need not be read
    if (path_exists(join_name(named.directory, kept_version(named.id)))) return named.id;
    if (version_id(load_manifest(join_name(named.directory, k_manifest_name))) == named.id) return named.id;
  }
  for (const DatasetVersion& version : dataset_versions(named.directory)) {
    if (version.id.starts_with(named.id)) found.insert(version.id);
  }
  if (found.size() == 1) return *found.begin();
  if (found.empty()) {
    throw Error(ErrorCode::not_found, fmt::format("has no version {}", named.id),
                {.path = named.directory, .hint = "`bale log` lists the versions that it has"});
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} versions begin with {}: {} and {}", found.size(), named.id, *found.begin(),
                          *std::next(found.begin())),
              {.path = named.directory, .hint = "give more digits"});
}

Error other_version_error(const std::string& spec, std::uint64_t saw, std::uint64_t now,
                          std::optional<std::uint64_t> epoch) {
  const auto start = [epoch](std::string_view which) {
    return epoch ? fmt::format("start epoch {} of the {} version with set_epoch({})", *epoch, which, *epoch)
                 : "begin without the state";
  };
  const std::optional<VersionSpec> named = split_version(spec);
  const std::string directory = named && names_version(spec) ? named->directory : spec;
  bool is_known = false;
  std::string gone;
  try {
    is_known = end_of_first_name(directory) == std::string::npos &&
               find_version({.directory = directory, .id = version_id(saw)}) == version_id(saw);
    if (is_known) gone = load_kept(directory, version_id(saw)).value_or(DatasetVersion{}).gone;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::interrupted) throw;  // else the state is of another dataset
  }
  if (is_known) {
    const std::string version = shown_name(with_version(directory, version_id(saw)));
    if (!gone.empty()) {
      return {ErrorCode::invalid_argument,
              fmt::format("this state saw {}, which was {} (now {})", version, printable(gone), version_id(now)),
              {.hint = start("present")}};
    }
    return {ErrorCode::invalid_argument,
            fmt::format("this state saw {} (now {})", version, version_id(now)),
            {.hint = fmt::format("open {} to continue, or {}", version, start("new"))}};
  }
  return {ErrorCode::invalid_argument,
          fmt::format("the state is of another dataset than this loader's: it saw version {}, this is {}",
                      version_id(saw), version_id(now)),
          {.hint = fmt::format("open the packed dataset that the state was saved with, or {}",
                               epoch ? "begin an epoch of this one with set_epoch()" : start(""))}};
}

}  // namespace bale
