#include "bale/writer/index/add_indexes.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/files/temporary_file.hpp"
#include "bale/formats/base/math/rounding.hpp"
#include "bale/formats/base/system/threads.hpp"
#include "bale/formats/image/jpeg/seek_points.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/seek_point_file.hpp"
#include "bale/formats/shard/shard.hpp"
#include "bale/formats/shard/shard_name.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/spec/dataset_spec.hpp"
#include "bale/reader/version.hpp"
#include "bale/writer/plan/dataset_files.hpp"
#include "bale/writer/run/version_stage.hpp"

namespace bale {
namespace {

struct ShardToIndex {
  std::string path;
  std::optional<ManifestShard> expected{};                   // what its manifest says, if there is one
  std::shared_ptr<const std::vector<std::string>> fields{};  // of that manifest, in its order
};

struct IndexPlan {
  std::set<std::string> directories{};  // of all shards
  std::vector<ShardToIndex> shards{};
  std::uint64_t num_present = 0;
};

/// The index of this file, and for a shard of a manifest of the file that was packed; nullopt if there is none or
/// another. Throws `damaged` if it cannot be read.
std::optional<ShardIndex> right_index(const ShardToIndex& shard) {
  std::optional<ShardIndex> index = current_index(shard.path);
  const bool is_of_another =
      index && shard.expected && index->digest() && digest_text(*index->digest()) != shard.expected->digest;
  return is_of_another ? std::nullopt : std::move(index);
}

bool has_right_index(const ShardToIndex& shard) {
  try {
    return right_index(shard).has_value();
  } catch (const Error& error) {
    const bool is_of_index = error.code() == ErrorCode::damaged && error.context().path == index_path(shard.path);
    if (is_of_index && keeps_keys_in_file(probe_format(shard.path))) return false;
    if (!is_of_index) throw;
    throw Error(
        error.code(), error.message() + ", and the keys are in it only",
        {.path = error.context().path, .hint = "copy it again, or make one that has numbers for keys with `force`"});
  }
}

void plan_part(const DatasetPart& part, bool replace, IndexPlan& plan) {
  std::vector<ShardToIndex> shards;
  for (const std::string& path : part.shards) shards.push_back({.path = path});
  if (!part.manifest_path.empty()) {
    Manifest manifest = part.load();
    std::vector<std::string> names;
    for (const ManifestField& field : manifest.fields) names.push_back(field.name);
    const auto fields = std::make_shared<const std::vector<std::string>>(std::move(names));
    const std::vector<std::string> paths = part.paths_of(manifest);
    for (std::size_t n = 0; n < paths.size(); ++n) {
      shards.push_back({.path = paths[n], .expected = std::move(manifest.shards[n]), .fields = fields});
    }
  }
  for (ShardToIndex& shard : shards) {
    plan.directories.insert(parent_directory(shard.path));
    if (!replace && has_right_index(shard)) {
      ++plan.num_present;
    } else {
      plan.shards.push_back(std::move(shard));
    }
  }
}

/// Adds what a scan does not find: the order of the fields, by which the first image is the sample's image, and keys
/// that only the index has.
void amend_scan(const ShardToIndex& shard, const Format& format, IndexBuilder& scanned, NoticeLog& notices) {
  std::optional<ShardIndex> known;
  try {
    known = right_index(shard);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::damaged && error.code() != ErrorCode::unsupported) throw;
  }
  if (shard.fields) scanned.order_fields(*shard.fields);
  if (known) {
    std::vector<std::string> names;
    for (const FieldInfo& field : known->fields()) names.push_back(field.name);
    scanned.order_fields(std::move(names));
  }
  if (keeps_keys_in_file(format)) return;
  if (known && known->size() == scanned.size()) return scanned.take_keys(*known);
  if (!shard.expected) return;
  NoticeLog lost;
  lost.warn("its keys were in the index only, which is lost: the new index has numbers for keys");
  notices.merge(lost, shard.path);
}

/// The index of one shard. What a manifest says was made when the shard was packed, so it is never replaced by what the
/// file is now: only the index of that very file is made.
std::vector<std::byte> index_of(const ShardToIndex& shard, const LookAtImage& look,
                                const std::function<void(std::uint64_t)>& on_progress, NoticeLog& notices) {
  const std::string& path = shard.path;
  const auto require_packed = [&](const Digest& digest) {
    if (shard.expected && digest_text(digest) != shard.expected->digest) throw Error(changed_after_packing_error(path));
  };
  if (shard.expected) require_packed(digest_file(path));
  const Format& format = probe_format(path);
  std::vector<std::byte> bytes = index_shard(path, format, look, on_progress, notices, [&](IndexBuilder& scanned) {
    amend_scan(shard, format, scanned, notices);
  });
  if (shard.expected)
    require_packed(*ShardIndex::from_bytes(bytes, path).digest());  // it may have changed in the meantime
  return bytes;
}

/// Whoever moves or removes a shard has looked for its files before this one is there.
void publish_beside(const std::string& shard, const std::string& path, Bytes content) {
  StagedFile(path, content).publish(shard);
  if (path_exists(shard)) return;
  ::unlink(path.c_str());
  throw Error(ErrorCode::retryable, "another run wrote the shard again in the meantime",
              {.path = shard, .hint = "run the same again"});
}

bool is_failure_of_one(const Error& error) { return concerns_one_file(error) || error.code() == ErrorCode::changed; }

std::uint64_t bytes_of(const std::vector<ShardToIndex>& shards) {
  std::uint64_t total = 0;
  for (const ShardToIndex& shard : shards) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(shard.path, error);
    if (!error) total += size;
  }
  return total;
}

}  // namespace

AddedIndexes add_indexes(const std::string& spec, const IndexingOptions& options, Progress& progress) {
  IndexPlan plan;
  const bool replace = options.replace || options.check == ImageCheck::decode;
  AddedIndexes added;
  for (const DatasetPart& part : resolve_dataset(spec).parts) {
    plan_part(part, replace, plan);
    added.notices.merge(part.missed(), {});
  }
  added.num_present = plan.num_present;
  for (const std::string& directory : plan.directories) {
    const std::uint64_t removed = remove_stale_temporaries(directory);
    if (removed != 0 && options.on_removed_temporaries) options.on_removed_temporaries(directory, removed);
  }
  const std::vector<ShardToIndex>& shards = plan.shards;
  progress.total_bytes = bytes_of(shards);
  progress.total_shards = shards.size();
  const LookAtImage look = [&](Bytes image) {
    const ImageFacts facts = check_image(image, options.check, options.max_pixels);
    return ImageEntry{.width = facts.width, .height = facts.height, .condition = facts.condition};
  };
  std::vector<NoticeLog> notices(shards.size());
  std::vector<std::optional<Error>> failures(shards.size());
  run_parallel(shards.size(), options.jobs, [&](std::size_t number) {
    const auto on_progress = [&](std::uint64_t read) {
      progress.throw_if_stopped();
      progress.bytes += read;
      ++progress.samples;
    };
    std::vector<std::byte> index;
    try {
      index = index_of(shards[number], look, on_progress, notices[number]);
    } catch (const Error& error) {
      if (shards.size() == 1 || !is_failure_of_one(error)) throw;
      failures[number] = error;
      return;
    }
    publish_beside(shards[number].path, index_path(shards[number].path), index);
    ++progress.shards;
  });
  for (const NoticeLog& of_shard : notices) added.notices.merge(of_shard, "");
  for (std::size_t number = 0; number < shards.size(); ++number) {
    if (failures[number]) added.failures.push_back({shards[number].path, *failures[number]});
  }
  added.num_added = shards.size() - added.failures.size();
  return added;
}

namespace {

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

/// The layout of a dataset's shards: from its manifest, else the layout whose shard names match the first shard.
FormatAndLayout layout_of(const Dataset& dataset) {
  if (const auto& manifest = dataset.manifest()) return find_format(manifest->format, manifest->layout);
  const Format& format = dataset.shard(0)->format();
  if (format.layouts.empty()) {
    throw Error(ErrorCode::invalid_argument, fmt::format("shards of {} have no files for other readers", format.name),
                {.path = dataset.shard_path(0), .hint = "leave `sidecars` out"});
  }
  const std::string file = base_name(dataset.shard_path(0));
  const auto called_so = [&](const Layout& layout) { return has_shard_name(layout, file); };
  const auto layout = std::find_if(format.layouts.begin(), format.layouts.end(), called_so);
  return {&format, layout != format.layouts.end() ? &*layout : &format.layouts.front()};
}

/// The dataset's name in files that list its shards: from its manifest, else its directory's name.
std::string name_of(const Dataset& dataset) {
  if (const auto& manifest = dataset.manifest()) return manifest->name;
  return base_name(parent_directory(std::filesystem::absolute(dataset.shard_path(0)).string()));
}

/// Throws `exists` if there is a file with other content.
void check_free(const std::string& path, const std::string& text) {
  if (!path_exists(path) || as_text(read_file(path)) == text) return;
  throw Error(ErrorCode::exists, "is there already and says something else",
              {.path = path, .hint = "replace it with `force`, or move it"});
}

/// Returns the current manifest. Throws `changed` if the dataset has another one: it is an earlier version, or a run
/// has published since it was opened.
ManifestFile require_current(const Dataset& dataset, const std::string& directory) {
  const std::string path = join_path(directory, k_manifest_name);
  ManifestFile file = read_current_manifest(directory);
  const Manifest current = parse_manifest(file.text, path);
  if (manifest_text(current) == manifest_text(*dataset.manifest())) return file;
  throw Error(ErrorCode::changed,
              fmt::format("says version {}, and version {} was opened", version_id(current), dataset.version()),
              {.path = path, .hint = "name the dataset without a version, and run the same again"});
}

/// Publishes `changed` in place of the dataset's manifest, unless it says the same. Calls `then`, if it is given,
/// before any other run can publish. Throws as require_current(), and `retryable` if a run is at work or publishes now.
void replace_manifest(const Dataset& dataset, const std::string& directory, const Manifest& changed,
                      const std::function<void()>& then = {}) {
  end_earlier_run(directory);
  const ManifestFile base = require_current(dataset, directory);
  const std::string text = manifest_text(changed);
  const bool is_same = text == manifest_text(*dataset.manifest());
  if (is_same && !then) return;
  const Progress progress;
  std::unique_ptr<VersionStage> lock;
  try {
    lock = VersionStage::begin(directory, &base, progress);
  } catch (const Error& error) {
    if (!is_same || error.code() != ErrorCode::exists) throw;  // an unfinished run, which changes nothing now
  }
  if (!is_same) publish_file(join_path(directory, k_manifest_name), as_bytes(text));
  if (then) then();
}

}  // namespace

void require_no_layers(const Dataset& dataset) {
  if (dataset.num_shards() == 0 || !dataset.layers(0)) return;
  throw Error(ErrorCode::unsupported,
              "files next to its shards would not fit: samples are removed, or have other labels",
              {.path = parent_directory(dataset.shard_path(0)), .hint = "run `bale rewrite` first"});
}

void check_sidecars(const Dataset& dataset, const std::vector<std::string>& names) {
  if (!names.empty() && dataset.num_shards() != 0) check_sidecars(layout_of(dataset), names);
}

std::uint64_t add_sidecars(const Dataset& dataset, const std::vector<std::string>& names, bool replace) {
  if (dataset.num_shards() == 0) return 0;
  require_no_layers(dataset);
  const FormatAndLayout made = layout_of(dataset);
  check_sidecars(made, names);
  const std::string directory = parent_directory(dataset.shard_path(0));
  std::optional<Manifest> manifest = dataset.manifest();
  if (manifest) require_current(dataset, directory);
  std::vector<StagedFile> files;
  const auto add = [&](const std::string& path, const std::string& text) {
    if (!replace) check_free(path, text);
    files.emplace_back(path, as_bytes(text));
  };
  std::vector<ListedShard> listed;
  for (std::size_t number = 0; number < dataset.num_shards(); ++number) {
    const std::string& path = dataset.shard_path(number);
    if (parent_directory(path) != directory) {
      throw Error(ErrorCode::invalid_argument, "shards of one list must lie in one directory", {.path = path});
    }
    const IndexInUse held = dataset.use_index(number);
    const ShardIndex& index = *held;
    listed.push_back({base_name(path), index.size(), index.shard_bytes()});
    for (const Sidecar& sidecar : sidecars_of(*made.layout, names)) {
      if (sidecar.name.empty()) continue;
      const std::string beside = sidecar_path(path, *made.layout, sidecar);
      add(beside, sidecar.text(path, index));
      if (manifest) add_once(manifest->shards[number].sidecars, base_name(beside));
    }
  }
  for (const ShardList& list : lists_of(*made.layout, names)) {
    const std::string name(list.file);
    add(join_path(directory, name), list.text(name_of(dataset), listed));
    if (manifest) add_once(manifest->lists, name);
  }
  // The manifest comes first: it may name a missing file, but a file that it does not name belongs to no dataset.
  const auto publish = [&] {
    for (StagedFile& file : files) file.publish(dataset.shard_path(0));
  };
  manifest ? replace_manifest(dataset, directory, *manifest, publish) : publish();
  return files.size();
}

namespace {

// A thread takes one piece at a time. The threads join after each window, which bounds the memory of waiting records.
constexpr std::uint64_t k_samples_of_piece = 32;
constexpr std::uint64_t k_pieces_of_window = 64;

using Record = std::vector<std::byte>;

bool has_seek_points(const Shard& shard) {
  try {
    const SeekPointFile file = SeekPointFile::load(find_seek_points(shard.path()));
    return file.fits(shard.index()) && file.records_are_whole();
  } catch (const Error&) {
    return false;
  }
}

/// Runs before the files are written. A missing file that the manifest names is reported; a file that it does not name
/// would belong to no dataset.
void name_in_manifest(const Dataset& dataset) {
  if (!dataset.manifest() || dataset.num_shards() == 0) return;
  Manifest manifest = *dataset.manifest();
  for (ManifestShard& shard : manifest.shards) {
    std::vector<std::string>& names = shard.sidecars;
    const auto is_named = [&](const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (is_named(seek_point_path(shard.file)) || is_named(old_seek_point_path(shard.file))) continue;
    names.push_back(seek_point_path(shard.file));
  }
  replace_manifest(dataset, parent_directory(dataset.shard_path(0)), manifest);
}

void add_to_shard(const Shard& shard, unsigned jobs, Progress& progress, AddedSeekPoints& added) {
  std::atomic<std::uint64_t> num_unreadable{0};
  const auto make = [&](std::uint64_t i, Scratch& scratch) -> Record {
    if (!shard.index().image_field(i)) return {};
    try {
      return make_seek_points(shard.read_image(i, scratch));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::damaged) throw;
      ++num_unreadable;
      return {};
    }
  };
  SeekPointFileBuilder builder;
  std::vector<Record> records(std::min(k_samples_of_piece * k_pieces_of_window, shard.size()));
  for (std::uint64_t first = 0; first < shard.size(); first += records.size()) {
    const std::uint64_t count = std::min<std::uint64_t>(records.size(), shard.size() - first);
    run_parallel(divide_up(count, k_samples_of_piece), jobs, [&](std::size_t piece) {
      Scratch scratch;
      const std::uint64_t end = std::min(count, (piece + 1) * k_samples_of_piece);
      for (std::uint64_t i = piece * k_samples_of_piece; i < end; ++i) {
        progress.throw_if_stopped();
        records[i] = make(first + i, scratch);
        ++progress.samples;
      }
    });
    for (std::uint64_t i = 0; i < count; ++i) {
      builder.add(records[i]);
      if (!records[i].empty()) ++added.num_images;
    }
  }
  publish_beside(shard.path(), find_seek_points(shard.path()), builder.build(shard.index().shard_bytes()));
  added.num_unreadable += num_unreadable;
  ++progress.shards;
}

}  // namespace

AddedSeekPoints add_seek_points(const Dataset& dataset, unsigned jobs, bool replace, Progress& progress) {
  require_no_layers(dataset);
  AddedSeekPoints added;
  std::vector<std::size_t> shards;
  for (std::size_t number = 0; number < dataset.num_shards(); ++number) {
    if (!replace && has_seek_points(*dataset.use_shard(number))) continue;
    shards.push_back(number);
    added.num_samples += dataset.use_index(number)->size();
  }
  added.num_shards = shards.size();
  progress.total_samples = added.num_samples;
  progress.total_shards = added.num_shards;
  name_in_manifest(dataset);
  for (const std::size_t number : shards) add_to_shard(*dataset.shard(number), jobs, progress, added);
  return added;
}

}  // namespace bale
