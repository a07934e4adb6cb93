// Which shards a dataset has, and how each of them is opened.
#include "bale/reader/dataset/dataset_state.hpp"

#include <algorithm>
#include <utility>

#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/registry/salvage.hpp"
#include "bale/formats/shard/current_index.hpp"
#include "bale/reader/shards/open_shards.hpp"
#include "bale/reader/spec/shard_directory.hpp"
#include "bale/reader/spec/shard_place.hpp"

namespace bale {
namespace {

/// The manifest next to shards that were given one by one, if it lists them all. One that cannot be read is an error:
/// without it, samples that were removed from the dataset would be there again.
std::optional<Manifest> manifest_beside(const DatasetPart& part, const std::string& path) {
  std::optional<Manifest> read;
  try {
    read = load_manifest(path);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_found) return std::nullopt;
    if (!is_data_error(error)) throw;
    if (is_of_another_program(path)) return std::nullopt;
    ErrorContext context = error.context();
    if (context.hint.empty())
      context.hint = "copy it again, or move it away to read the shards without what it says of them";
    throw Error(error.code(), error.message(), std::move(context));
  }
  const Manifest& manifest = *read;
  std::set<std::string> files;
  for (const ManifestShard& shard : manifest.shards) files.insert(shard.file);
  const bool names_all = std::all_of(part.shards.begin(), part.shards.end(),
                                     [&](const std::string& shard) { return files.contains(base_name(shard)); });
  return names_all ? read : std::nullopt;
}

std::shared_ptr<const Layers> layers_of(const std::string& directory, const Manifest& manifest) {
  return manifest.layers.empty() ? nullptr : std::make_shared<const Layers>(directory, manifest);
}

void check_against_manifest(const Shard& shard, const ManifestShard& expected) {
  const auto digest = shard.index().digest();
  if (shard.size() == expected.num_samples && (!digest || digest_text(*digest) == expected.digest)) return;
  throw Error(ErrorCode::changed, "shard and manifest are of different runs",
              {.path = shard.path(), .hint = "copy the whole dataset again"});
}

/// Opens a shard that has a manifest.
template <typename Open>
Shard open_packed(const Open& open) try {
  return open();
} catch (const Error& error) {
  if (error.code() != ErrorCode::changed) throw;
  throw Error(changed_after_packing_error(error.context().path));
}

}  // namespace

void Dataset::State::add_part(const DatasetPart& named) {
  Part& part = parts.emplace_back(Part{.path = named.path});
  for (const std::string& path : named.shards) entries.push_back({.path = path, .part = parts.size() - 1});
  notices.merge(named.missed(), {});
  if (named.manifest_path.empty()) {
    const std::string beside = join_name(named.path, k_manifest_name);
    if (!path_exists(beside)) {
      part.classes = classes_in_own_lists(named.shards);
    } else if (const std::optional<Manifest> manifest = manifest_beside(named, beside)) {
      part.classes = manifest->classes;
      part.layers = layers_of(named.path, *manifest);
    }
    return;
  }
  part.manifest_path = named.manifest_path;
  part.manifest_file = FileStamp::of(named.manifest_path);
  part.manifest = named.load();
  require_format(part.manifest->format, named.manifest_path);
  part.layers = layers_of(named.directory, *part.manifest);
  part.classes = part.manifest->classes;
  for (const ManifestField& field : part.manifest->fields) add_field(field.name);
  std::vector<std::string> paths = named.paths_of(*part.manifest);
  for (std::size_t n = 0; n < paths.size(); ++n) {
    entries.push_back({.path = std::move(paths[n]), .part = parts.size() - 1, .expected = &part.manifest->shards[n]});
  }
}

void Dataset::State::add_field(const std::string& name) {
  if (known_fields.insert(name).second) fields.push_back(name);
}

void Dataset::State::choose_direct_io() {
  if (options.direct_io) return;
  options.direct_io = false;
  if (options.counting != Counting::when_opened) return;
  const std::optional<std::uint64_t> memory = memory_for_files();
  std::vector<SizedFile> files;
  for (const Entry& entry : entries) {
    if (remote_storage_of(entry.path) != nullptr) continue;
    files.push_back(
        {entry.path, entry.expected != nullptr ? entry.expected->bytes : file_size(entry.path).value_or(0)});
  }
  options.direct_io = prefers_direct_io(files, memory);
}

void Dataset::State::check_chosen_direct_io() {
  const std::optional<std::size_t> first = first_local_shard();
  try {
    options.direct_io = first && shards->use(*first)->is_direct();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::interrupted) throw;
    options.direct_io = false;  // reading the shard says what is wrong
  }
}

std::optional<std::size_t> Dataset::State::first_local_shard() const {
  for (std::size_t number = 0; number < entries.size(); ++number) {
    if (remote_storage_of(entries[number].path) == nullptr) return number;
  }
  return std::nullopt;
}

void Dataset::State::load_layers(const Entry& entry) const {
  const Part& part = parts[entry.part];
  if (!part.layers) return;
  read_kept(entry, [&] { part.layers->load(); });
}

void Dataset::State::require_kept(const Entry& entry, const Error& error) const {
  const Part& part = parts[entry.part];
  if (error.code() != ErrorCode::not_found || !part.manifest) return;
  if (is_replaced_since(part.manifest_path, part.manifest_file, *part.manifest))
    bale::require_kept(entry.path, *part.manifest);
}

std::string Dataset::State::digest_to_find(const Entry& entry) const {
  const Part& part = parts[entry.part];
  return part.manifest && is_replaced_since(part.manifest_path, part.manifest_file, *part.manifest) ? entry.digest()
                                                                                                    : std::string();
}

void Dataset::State::leave_out_lost_shards() {
  for (const Entry& entry : entries) load_layers(entry);
  std::optional<Error> first;
  std::vector<Entry> kept;
  for (Entry& entry : entries) {
    const auto expected = entry.expected != nullptr ? std::optional(entry.expected->num_samples) : std::nullopt;
    try {
      SalvagedShard salvaged = open_at_its_place(
          entry.path, [&] { return digest_to_find(entry); },
          [&](const std::string& path) { return salvage_shard(path, options.format, opening(entry)); });
      const std::uint64_t size = salvaged.shard.size();
      if (!salvaged.loss.empty()) {
        losses.push_back({entry.path, std::move(salvaged.loss),
                          expected && *expected >= size ? std::optional(*expected - size) : salvaged.num_lost});
      } else if (entry.expected != nullptr) {
        check_against_manifest(salvaged.shard, *entry.expected);
      }
      entry.format = &salvaged.shard.format();
      entry.index = salvaged.shard.shared_index();
      kept.push_back(std::move(entry));
    } catch (const Error& error) {
      if (is_lack_of_resources(error) || error.code() == ErrorCode::interrupted) throw;
      require_kept(entry, error);
      if (remote_storage_of(entry.path) != nullptr && !is_data_error(error)) throw;
      losses.push_back({entry.path, error.what(), expected});
      if (!first) first = error;
    }
  }
  if (kept.empty() && first) throw Error(*first);
  entries = std::move(kept);
}

ShardOpenOptions Dataset::State::opening(const Entry& entry) const {
  return {.verify_checksums = options.verify_checksums,
          .direct_io = options.direct_io.value_or(false),
          .layers = parts[entry.part].layers,
          .digest = entry.digest(),
          .index_memory = options.index_memory};
}

Shard Dataset::State::open(std::size_t number, const Format* format,
                           const std::shared_ptr<const ShardIndex>& index) const {
  const Entry& known = entries[number];
  load_layers(known);
  if (known.expected == nullptr) return open_now(known, format, index);
  try {
    return open_at_its_place(
        known.path, [&] { return digest_to_find(known); },
        [&](const std::string& path) {
          Entry entry = known;
          entry.path = path;
          return open_now(entry, format, index);
        });
  } catch (const Error& error) {
    require_kept(known, error);
    const Part& part = parts[known.part];
    const bool is_replaced = FileStamp::of(part.manifest_path) != part.manifest_file;
    const bool is_of_shard =
        is_data_error(error) || error.code() == ErrorCode::not_found || error.code() == ErrorCode::changed;
    if (is_replaced && is_of_shard) throw Error(changed_error(known.path));
    throw;
  }
}

Shard Dataset::State::open_now(const Entry& entry, const Format* format,
                               const std::shared_ptr<const ShardIndex>& index) const {
  ShardOpenOptions opening = this->opening(entry);
  opening.check_size = entry.index == nullptr;  // a salvaged shard may be shorter than it was
  const PinnedContent content(entry.digest());
  if (index) return Shard::open(entry.path, *format, index, opening);
  if (entry.index) return Shard::open(entry.path, *entry.format, entry.index, opening);
  return entry.expected == nullptr ? open_unlisted(entry, opening) : open_listed(entry, opening);
}

Shard Dataset::State::open_listed(const Entry& entry, const ShardOpenOptions& opening) const {
  const auto open_now = [&] {
    Shard shard = open_packed([&] { return open_anew(entry, opening); });
    check_against_manifest(shard, *entry.expected);
    return shard;
  };
  if (const Storage* const storage = remote_storage_of(entry.path)) {
    try {
      return open_now();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::changed && error.code() != ErrorCode::damaged) throw;
      for (const std::string& path : {entry.path, index_path(entry.path)}) storage->cache().refresh(path);
    }
  }
  return open_now();
}

Shard Dataset::State::open_unlisted(const Entry& entry, const ShardOpenOptions& opening) const {
  const Storage* const storage = remote_storage_of(entry.path);
  if (storage == nullptr || options.counting == Counting::when_opened) return open_anew(entry, opening);
  const File file = File::open_read(entry.path);  // while it is open, what is fetched is known
  if (needs_scan(entry.path)) {
    report_scan();
    if (is_fetched_whole(file.size(), *storage)) file.advise_will_need(0, file.size());
  }
  return open_anew(entry, opening);
}

Shard Dataset::State::open_anew(const Entry& entry, const ShardOpenOptions& opening) const {
  if (options.format == nullptr) return open_shard(entry.path, opening);
  const std::string beside = index_path(entry.path);
  ShardIndex index = path_exists(beside) ? ShardIndex::load(beside) : scan_shard(entry.path, *options.format);
  return Shard::open(entry.path, *options.format, amended_index(std::move(index), entry.path, opening), opening);
}

}  // namespace bale
