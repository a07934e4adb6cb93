#include "bale/reader/dataset/keys/names_apart.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/contained_name.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/formats/shard/sample/key.hpp"

namespace bale {
namespace {

/// A path without what is not a part of the file's place: the query of a URL, slashes at the end.
std::string place_of(const std::string& path) {
  std::string place =
      without_secrets(remote_storage_of(path) == nullptr ? path : path.substr(0, path.find_first_of("?#")));
  while (place.size() > 1 && place.ends_with('/')) place.pop_back();
  return place;
}

/// The last `count` components of a path.
std::string end_of_path(const std::string& path, std::size_t count) {
  std::size_t at = path.size();
  for (std::size_t i = 0; i < count && at != 0 && at != std::string::npos; ++i) at = path.rfind('/', at - 1);
  const std::string end = contained_name(at == std::string::npos ? path : path.substr(at));
  return end.empty() ? path : end;
}

bool all_differ(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) == names.end();
}

/// Adds a number to a name that an earlier file has.
void number_repeated(std::vector<std::string>& names) {
  std::set<std::string> taken;
  for (std::string& name : names) {
    const std::string own = name;
    for (int number = 2; !taken.insert(name).second; ++number) name = fmt::format("{}-{}", own, number);
  }
}

bool may_repeat_keys(const Dataset& dataset) { return !dataset.manifest() && dataset.num_shards() > 1; }

bool repeats_a_key(const Dataset& dataset) {
  if (!may_repeat_keys(dataset)) return false;
  return find_repeated_key(dataset.num_shards(),
                           [&](std::size_t shard, const KeyVisitor& visit) {
                             const IndexInUse held = dataset.use_index(shard);
                             for (std::uint64_t i = 0; i < held->size(); ++i) visit(held->key(i));
                           })
      .has_value();
}

/// Where the extension of a file begins: its longest that is a field, else the last if it is that of an image; npos if
/// its image was found by its content.
std::size_t extension_of_name(const std::string& name, const std::vector<std::string>& fields) {
  const std::size_t slash = name.rfind('/');
  for (std::size_t dot = name.find('.', slash == std::string::npos ? 0 : slash); dot != std::string::npos;
       dot = name.find('.', dot + 1)) {
    if (std::find(fields.begin(), fields.end(), field_name(name.substr(dot + 1))) != fields.end()) return dot;
  }
  return is_image_name(name) ? name.rfind('.') : std::string::npos;
}

/// The hashes that more than one key has.
std::unordered_set<std::uint64_t> repeated(std::vector<std::uint64_t> hashes) {
  std::sort(hashes.begin(), hashes.end());
  std::unordered_set<std::uint64_t> found;
  for (std::size_t i = 1; i < hashes.size(); ++i) {
    if (hashes[i] == hashes[i - 1]) found.insert(hashes[i]);
  }
  return found;
}

}  // namespace

std::vector<std::string> names_apart(const std::vector<std::string>& paths) {
  std::vector<std::string> places;
  std::size_t deepest = 1;
  for (const std::string& path : paths) {
    places.push_back(place_of(path));
    deepest = std::max<std::size_t>(deepest, 1 + static_cast<std::size_t>(std::count(path.begin(), path.end(), '/')));
  }
  std::vector<std::string> names(places.size());
  for (std::size_t count = 1; count <= deepest; ++count) {
    std::transform(places.begin(), places.end(), names.begin(),
                   [&](const std::string& place) { return end_of_path(place, count); });
    if (all_differ(names)) return names;
  }
  if (std::set<std::string>(places.begin(), places.end()).size() == 1) {
    std::fill(names.begin(), names.end(), end_of_path(places.front(), 1));
  }
  number_repeated(names);
  return names;
}

std::vector<std::string> shard_paths(const Dataset& dataset) {
  std::vector<std::string> paths;
  for (std::size_t shard = 0; shard < dataset.num_shards(); ++shard) paths.push_back(dataset.shard_path(shard));
  return paths;
}

SampleKeys::SampleKeys(const Dataset& dataset) : SampleKeys(dataset, repeats_a_key(dataset)) {}

SampleKeys::SampleKeys(const Dataset& dataset, bool are_told_apart)
    : fields_(dataset.fields()), forms_(dataset.num_shards()) {
  if (are_told_apart) names_ = names_apart(shard_paths(dataset));
  std::map<std::string, KeyForm> form_of;  // the datasets, by their directories
  for (std::size_t shard = 0; shard < dataset.num_shards(); ++shard) {
    if (dataset.expected_digest(shard).empty()) continue;  // no manifest
    const std::string directory = parent_directory(dataset.shard_path(shard));
    auto known = form_of.find(directory);
    if (known == form_of.end()) {
      const KeyForm form =
          dataset.manifest() ? dataset.manifest()->keys : load_manifest(join_name(directory, k_manifest_name)).keys;
      known = form_of.emplace(directory, form).first;
    }
    forms_[shard] = known->second;
  }
}

bool SampleKeys::are_encoded() const {
  return std::find(forms_.begin(), forms_.end(), KeyForm::encoded) != forms_.end();
}

bool SampleKeys::have_extensions() const {
  return std::all_of(forms_.begin(), forms_.end(), [](KeyForm form) { return form == KeyForm::with_extensions; });
}

std::string SampleKeys::told_apart(std::size_t shard, std::string_view key) const {
  return names_.empty() ? std::string(key) : fmt::format("{}/{}", names_[shard], key);
}

std::string SampleKeys::name(std::size_t shard, std::string_view key) const {
  std::string own = forms_[shard] == KeyForm::encoded ? decode_key(key) : std::string(key);
  if (leads_outside(own)) own = contained_name(own);
  if (own.empty() && !key.empty()) own = "_";  // nothing but dots and slashes
  return told_apart(shard, own);
}

std::string SampleKeys::file_name(std::size_t shard, std::string_view key, std::string_view field, bool decodes,
                                  bool shortens) const {
  const std::string own = decodes ? decode_key(key) : std::string(key);
  std::string name = fmt::format("{}.{}", own, field);
  if (decodes && forms_[shard] == KeyForm::with_extensions) {
    const std::size_t dot = extension_of_name(own, fields_);
    const bool is_named = dot == std::string::npos ? is_image_field(field) : field_name(own.substr(dot + 1)) == field;
    if (is_named) name = own;
    if (!is_named && shortens) name = fmt::format("{}.{}", own.substr(0, dot), field);
  }
  return told_apart(shard, contained_name(name));
}

std::optional<RepeatedKey> find_repeated_key(
    std::size_t num_shards, const std::function<void(std::size_t shard, const KeyVisitor& visit)>& visit_keys) {
  std::vector<std::uint64_t> hashes;
  for (std::size_t shard = 0; shard < num_shards; ++shard) {
    visit_keys(shard, [&](std::string_view key) { hashes.push_back(hash_key(key)); });
  }
  const std::unordered_set<std::uint64_t> candidates = repeated(std::move(hashes));
  if (candidates.empty()) return std::nullopt;
  std::map<std::string, std::size_t, std::less<>> seen;
  std::optional<RepeatedKey> found;
  for (std::size_t shard = 0; shard < num_shards && !found; ++shard) {
    visit_keys(shard, [&](std::string_view key) {
      if (found || !candidates.contains(hash_key(key))) return;
      const auto [known, is_new] = seen.emplace(key, shard);
      if (!is_new) found = {.key = known->first, .first = known->second, .second = shard};
    });
  }
  return found;
}

}  // namespace bale
