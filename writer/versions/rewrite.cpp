#include "bale/writer/rewrite.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/progress.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/field_layer.hpp"
#include "bale/formats/shard/layer.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/formats/shard/shard_name.hpp"
#include "bale/formats/storage/remote_cache.hpp"
#include "bale/reader/spec/shard_place.hpp"
#include "bale/reader/version.hpp"
#include "bale/writer/add/addition.hpp"
#include "bale/writer/plan/plan.hpp"
#include "bale/writer/publish/removal_list.hpp"
#include "bale/writer/publish/run_store.hpp"
#include "bale/writer/run/pack_run.hpp"
#include "bale/writer/run/version_stage.hpp"
#include "bale/writer/shard/shard_job.hpp"
#include "bale/writer/versions/kept_versions.hpp"

namespace bale {
namespace {

/// The layers of a version whose shards are written again in part, with what layers say of these: what
/// they say of the others. A layer that says something of both gets a new file.
///
/// For one thread. Memory: 4 bytes per value of a field in the new file, 12 per label.
class RemainingLayers {
 public:
  /// None.
  RemainingLayers() = default;
  /// `written`: digests of shards that are written again, as manifests have them.
  RemainingLayers(const Layers& layers, std::set<std::string> written);

  /// Those that stay as they are.
  std::vector<ManifestLayer> unchanged() const;
  /// Writes the files of the others. Throws `damaged` if one of their values is not what was written.
  void stage(RunStore& store, Progress& progress);
  /// All of them, in their order. Precondition: stage() returned.
  const std::vector<ManifestLayer>& all() const { return all_; }

 private:
  bool is_written(const Digest& shard) const { return written_.contains(digest_text(shard)); }
  Layer rest_of(std::size_t number) const;
  std::vector<std::size_t> shards_left(const FieldLayer& layer) const;
  ManifestLayer write_rest(const FieldLayer& layer, const std::vector<std::size_t>& shards, const std::string& staged,
                           Progress& progress) const;

  Layers layers_;
  std::set<std::string> written_;
  std::vector<bool> is_changed_;  // by number of the layer
  std::vector<ManifestLayer> all_;
};

RemainingLayers::RemainingLayers(const Layers& layers, std::set<std::string> written)
    : layers_(layers), written_(std::move(written)) {
  layers_.load();
  for (std::size_t number = 0; number < layers_.listed().size(); ++number) {
    const ManifestLayer& listed = layers_.listed()[number];
    if (field_of_layer(listed)) {
      const FieldLayer& layer = layers_.field_layer(number);
      is_changed_.push_back(shards_left(layer).size() != layer.shards().size());
    } else {
      is_changed_.push_back(describe_layer(rest_of(number), {}).num_rows != listed.num_rows);
    }
  }
}

std::vector<ManifestLayer> RemainingLayers::unchanged() const {
  std::vector<ManifestLayer> unchanged;
  for (std::size_t number = 0; number < is_changed_.size(); ++number) {
    if (!is_changed_[number]) unchanged.push_back(layers_.listed()[number]);
  }
  return unchanged;
}

void RemainingLayers::stage(RunStore& store, Progress& progress) {
  all_.clear();
  const auto stage_layer = [&](const auto& write) {
    store.stage_file([&](const std::string& staged) {
      all_.push_back(write(staged));
      return layer_name(all_.back().digest);
    });
  };
  for (std::size_t number = 0; number < is_changed_.size(); ++number) {
    if (!is_changed_[number]) {
      all_.push_back(layers_.listed()[number]);
    } else if (field_of_layer(layers_.listed()[number])) {
      const FieldLayer& layer = layers_.field_layer(number);
      const std::vector<std::size_t> shards = shards_left(layer);
      if (shards.empty()) continue;
      stage_layer([&](const std::string& staged) { return write_rest(layer, shards, staged, progress); });
    } else {
      const Layer layer = rest_of(number);
      if (layer.shards.empty()) continue;
      stage_layer([&](const std::string& staged) {
        const std::vector<std::byte> content = layer_bytes(layer);
        write_durably(staged, content);
        return describe_layer(layer, content);
      });
    }
  }
}

Layer RemainingLayers::rest_of(std::size_t number) const {
  const std::string& path = layers_.paths()[number];
  Layer layer = parse_layer(read_file(path), path);
  std::erase_if(layer.shards, [&](const Layer::OfShard& of) { return is_written(of.shard); });
  return layer;
}

std::vector<std::size_t> RemainingLayers::shards_left(const FieldLayer& layer) const {
  std::vector<std::size_t> left;
  for (std::size_t number = 0; number < layer.shards().size(); ++number) {
    if (!is_written(layer.shards()[number].shard)) left.push_back(number);
  }
  return left;
}

/// Values are compared with their checksums, which the new file would otherwise make right.
ManifestLayer RemainingLayers::write_rest(const FieldLayer& layer, const std::vector<std::size_t>& shards,
                                          const std::string& staged, Progress& progress) const {
  std::vector<FieldLayerWriter::OfShard> left;
  for (const std::size_t shard : shards) {
    left.push_back({.shard = layer.shards()[shard].shard});
    for (const FieldLayerRow& row : layer.rows(shard)) left.back().rows.push_back(row.row);
  }
  FieldLayerWriter writer(staged, layer.field(), layer.prefix(), std::move(left));
  std::vector<std::byte> value;
  for (const std::size_t shard : shards) {
    std::uint64_t at = layer.values_at(shard);
    for (const FieldLayerRow& row : layer.rows(shard)) {
      progress.throw_if_stopped();
      value.resize(layer.prefix().size() + row.bytes);
      layer.read(at, value);
      if (crc32c(value) != row.crc32c) {
        throw Error(ErrorCode::damaged, "checksum of a value does not match",
                    {.path = layer.path(), .offset = at, .hint = "`bale verify` names its sample"});
      }
      writer.add(Bytes(value).subspan(layer.prefix().size()));
      at += row.bytes;
    }
  }
  return writer.finish();
}

const Layout& layout_of(const Manifest& manifest) { return *find_format(manifest.format, manifest.layout).layout; }

void throw_if_not_rewritable(const Manifest& manifest, const std::string& directory) {
  const Layout& layout = layout_of(manifest);
  if (layout.keeps_bytes && !layout.counted) return;
  throw Error(ErrorCode::unsupported,
              layout.counted ? fmt::format("shards of {}.{} are not written again: their names have their number",
                                           manifest.format, manifest.layout)
                             : "shards of pixels are not written again",
              {.path = directory, .hint = "`bale convert` writes the version without what was removed"});
}

/// Shards of the base that follow each other, and become one.
struct Group {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::uint64_t bytes = 0;
};

/// Files that keep their bytes when they are removed: links, and those with other names.
std::uint64_t count_linked(const std::string& directory, const std::vector<std::string>& files) {
  std::uint64_t count = 0;
  std::map<std::pair<dev_t, ino_t>, std::uint64_t> other_names;
  for (const std::string& file : files) {
    struct stat info {};
    if (::lstat(join_path(directory, file).c_str(), &info) != 0) continue;
    if (S_ISLNK(info.st_mode)) ++count;
    if (S_ISREG(info.st_mode)) --other_names.try_emplace({info.st_dev, info.st_ino}, info.st_nlink).first->second;
  }
  for (const auto& [file, names] : other_names) count += names != 0 ? 1 : 0;
  return count;
}

class Rewriting {
 public:
  Rewriting(const RewriteOptions& asked, Progress& progress)
      : asked_(asked),
        progress_(progress),
        base_(std::make_shared<const BaseVersion>(base_of(asked))),
        layers_(asked.destination, manifest()),
        options_(options_as_packed({.destination = asked.destination,
                                    .jobs = asked.jobs,
                                    .mode = DestinationMode::resume,
                                    .change_message = asked.message},
                                   manifest())) {
    report_ = {.directory = asked.destination, .parent = base_->id};
    const std::vector<Group> groups = choose();
    if (!groups.empty()) make_plan(groups);
    std::set<std::string> written;
    for (const std::size_t number : rewritten().replaced) written.insert(manifest().shards[number].digest);
    remaining_ = RemainingLayers(layers_, std::move(written));
    retire();
    report_.num_removed_files = rewritten().removed.size();
    if (asked_.purge) report_.num_linked_files = count_linked(asked_.destination, rewritten().removed);
    for (const GoneVersion& gone : rewritten().gone) report_.gone.push_back(gone.id);
  }

  RewriteReport run() {
    if (asked_.dry_run) return std::move(report_);
    if (rewritten().replaced.empty()) {
      purge_older();
    } else {
      write();
    }
    clear_cache();  // of what others read in the meantime
    report_.bucket_keeps_removed = keeps_removed_objects(asked_.destination);
    return std::move(report_);
  }

 private:
  void write() {
    drop_other_rewriting();
    if (plan_.num_samples != 0) source_ = open_source();
    PackWork work{.plan = plan_,
                  .places = {},
                  .facts = {.classes = manifest().classes, .earlier_edits = manifest().edits, .keys = manifest().keys},
                  .samples = {},
                  .write = {}};
    work.stage = [&](RunStore& store) {
      remaining_.stage(store, progress_);
      // A file of the same content is not one that goes.
      for (const ManifestLayer& layer : remaining_.all())
        std::erase(work.plan.rewritten->removed, layer_name(layer.digest));
    };
    work.facts.change = [&](Manifest& version) {
      version.layers = remaining_.all();
      clear_cache();
    };
    work.write = [this](const Slot& slot, const std::string& staged) {
      return write_shard({.source = *source_,
                          .options = options_,
                          .dataset = *slot.dataset,
                          .shard = slot.shard,
                          .quarantine = quarantine_,
                          .fixed_source = true,
                          .staged_path = staged},
                         progress_);
    };
    const PackReport packed = pack_planned(work, options_, progress_);
    report_.version = version_id(packed.outputs.front().manifest);
    report_.num_bytes = packed.num_bytes;
  }

  /// What this machine has of the purged shards, if they were read from a server. Before the version is published, too,
  /// when this run has read them: if it is killed after that, there is nothing to continue.
  void clear_cache() {
    if (!unwanted_.digests.empty()) report_.num_cache_bytes += remove_from_cache(unwanted_);
  }

  static BaseVersion base_of(const RewriteOptions& asked) {
    Manifest manifest = manifest_to_change(asked.destination);
    if (!asked.dry_run && end_earlier_run(asked.destination)) manifest = manifest_to_change(asked.destination);
    if (layout_of(manifest).counted) throw_if_not_rewritable(manifest, asked.destination);
    std::string id = version_id(manifest);
    return {.manifest = std::move(manifest), .id = std::move(id)};
  }

  const Manifest& manifest() const { return base_->manifest; }
  RewrittenShards& rewritten() { return *plan_.rewritten; }
  std::unique_ptr<Source> open_source() const {
    return open_packed_source(with_version(asked_.destination, base_->id),
                              {.keys_name_files = options_.format.layout->keys_name_files});
  }

  bool is_touched(const ManifestShard& shard) const {
    const ShardAmendments* const amendments = layers_.of(shard.digest);
    return asked_.all || (amendments != nullptr && (!asked_.only_removed || !amendments->removed.empty()));
  }

  /// Which shards are written again, together with which neighbors.
  std::vector<Group> choose() const {
    std::vector<Group> groups;
    bool is_open = false;  // the last group may get another shard
    const std::vector<ManifestShard>& shards = manifest().shards;
    for (std::size_t n = 0; n < shards.size(); ++n) {
      const bool is_chosen = is_touched(shards[n]) || shards[n].bytes < asked_.small_bytes;
      if (is_chosen && is_open && groups.back().bytes + shards[n].bytes <= asked_.small_bytes) {
        groups.back().end = n + 1;
        groups.back().bytes += shards[n].bytes;
      } else if (is_chosen) {
        groups.push_back({.begin = n, .end = n + 1, .bytes = shards[n].bytes});
      }
      is_open = is_chosen;
    }
    // A small one without neighbors stays.
    std::erase_if(groups,
                  [&](const Group& group) { return group.end == group.begin + 1 && !is_touched(shards[group.begin]); });
    return groups;
  }

  void make_plan(const std::vector<Group>& groups) {
    throw_if_not_rewritable(manifest(), asked_.destination);
    PlannedDataset& planned = plan_.datasets.emplace_back();
    planned.name = manifest().name;
    std::vector<std::uint64_t> begins{0};  // of the base's shards among its samples
    for (const ManifestShard& shard : manifest().shards) begins.push_back(begins.back() + shard.num_samples);
    DigestStream stream;
    stream.update(as_bytes(fingerprint_of_options("rewrite", options_, manifest().classes)));
    stream.update(as_bytes(fmt::format("version {} {}\n", base_->id, asked_.purge ? "purged" : "kept")));
    const std::uint64_t first = next_shard_number(options_, manifest());
    for (const Group& group : groups) {
      for (std::size_t n = group.begin; n < group.end; ++n) rewritten().replaced.insert(n);
      stream.update(as_bytes(fmt::format("shards {} {}\n", group.begin, group.end)));
      report_.num_bytes += group.bytes;
      if (begins[group.begin] == begins[group.end]) continue;  // no sample is left in them
      planned.shards.push_back(
          {.file = shard_file_name(*options_.format.layout, planned.name, first + planned.shards.size(), 0),
           .begin = begins[group.begin],
           .end = begins[group.end],
           .bytes = group.bytes});
      rewritten().places.push_back(group.begin);
      plan_.num_samples += planned.shards.back().end - planned.shards.back().begin;
      plan_.num_bytes += group.bytes;
    }
    plan_.fingerprint = digest_text(stream.digest());
    plan_.facts = facts_of_options(options_, manifest().classes);
    plan_.facts["version"] = base_->id;
    plan_.facts["verb"] = "rewrite";
    plan_.facts["command"] = asked_.only_removed ? "remove --purge" : "rewrite";
    plan_.base = base_;
    plan_.next_shard = first + planned.shards.size();
    report_.num_samples = plan_.num_samples;
    report_.num_shards = planned.shards.size();
    report_.num_replaced = rewritten().replaced.size();
  }

  /// Names of the shards that hold removed samples and are in the new version no more.
  std::set<std::string> shards_to_purge(const std::vector<KeptVersion>& kept) {
    std::set<std::string> purged;
    std::set<std::string> known;
    for (std::size_t n = 0; n < manifest().shards.size(); ++n) {
      const ManifestShard& shard = manifest().shards[n];
      known.insert(shard.file);
      const ShardAmendments* const amendments = layers_.of(shard.digest);
      if (amendments != nullptr && !amendments->removed.empty()) purged.insert(shard.file);
    }
    const RemovalList removals = RemovalList::load(asked_.destination, manifest());
    for (const KeptVersion& version : kept) {
      for (const ManifestShard& shard : version.manifest.shards) {
        if (!known.insert(shard.file).second) continue;
        const ShardIndex index =
            ShardIndex::load(index_path(place_of_shard(join_path(asked_.destination, shard.file))));
        for (std::uint64_t i = 0; i < index.size(); ++i) {
          if (!removals.has_key(index.key(i))) continue;
          purged.insert(shard.file);
          break;
        }
      }
    }
    return purged;
  }

  /// What becomes of the files that the new version does not need.
  void retire() {
    HeldFiles held(asked_.destination);
    const std::vector<KeptVersion> kept = kept_versions(held);
    const std::set<std::string> purged = asked_.purge ? shards_to_purge(kept) : std::set<std::string>();
    std::set<std::string> named;
    std::set<std::string> needed_by_older;
    const auto take = [&](const std::string& id, const Manifest& version) {
      const bool is_gone = std::any_of(version.shards.begin(), version.shards.end(),
                                       [&](const ManifestShard& shard) { return purged.contains(shard.file); });
      add_files(version, is_gone ? named : needed_by_older);
      for (const ManifestShard& shard : version.shards) {
        if (!purged.contains(shard.file)) continue;
        unwanted_.digests.insert(shard.digest);
        unwanted_.sizes.insert(shard.bytes);
      }
      if (is_gone) {
        rewritten().gone.push_back({.id = id, .why = purged_by(base_->id), .parent = version.parent});
      }
    };
    bool base_is_kept = false;  // the same content was a version before, in other shards
    for (const KeptVersion& version : kept) {
      take(version.id, version.manifest);
      base_is_kept = base_is_kept || version.id == base_->id;
    }
    if (base_is_kept) add_files(manifest(), named);
    if (!base_is_kept && !rewritten().replaced.empty()) take(base_->id, manifest());
    std::set<std::string> needed;
    Manifest rest = manifest();
    rest.layers = remaining_.unchanged();
    rest.shards.clear();
    for (std::size_t n = 0; n < manifest().shards.size(); ++n) {
      if (!rewritten().replaced.contains(n)) rest.shards.push_back(manifest().shards[n]);
    }
    add_files(rest, needed);
    for (const std::string& file : needed_by_older) {
      named.erase(file);
      const bool moves = !needed.contains(file) && file.find('/') == std::string::npos && held.holds(file);
      if (!moves) continue;
      if (is_object_store(asked_.destination) && held.size_of(file) > k_most_copied_bytes) {
        throw Error(ErrorCode::unsupported, "is larger than what an object store copies by one request, 5 GiB",
                    {.path = join_path(asked_.destination, file),
                     .hint = "`bale convert` writes the version to another prefix, in smaller shards"});
      }
      const std::string place = join_path(std::string(k_versions_name), file);
      if (held.holds(place)) {
        throw Error(ErrorCode::exists, "is in the way and was not written by bale",
                    {.path = join_path(asked_.destination, place), .hint = "move it"});
      }
      rewritten().moved.emplace_back(file, place);
    }
    for (const std::string& file : named) {
      if (needed.contains(file)) continue;
      std::vector<std::string> paths = held.paths_of(file);
      if (paths.empty() && !is_object_store(asked_.destination)) paths.push_back(file);  // seek points may come yet
      for (std::string& path : paths) {
        if (!unwanted_.digests.empty()) unwanted_.sizes.insert(held.size_of(path));
        rewritten().removed.push_back(std::move(path));
      }
    }
  }

  /// The current version is without the samples already; older ones are not.
  void purge_older() {
    report_.version = base_->id;
    if (rewritten().gone.empty()) return;
    clear_cache();
    VersionStage::begin(asked_.destination, nullptr, progress_)->remove(rewritten().gone, rewritten().removed);
  }

  /// An unfinished run of other options wrote nothing that anyone reads.
  void drop_other_rewriting() {
    if (has_other_run(asked_.destination, "rewrite", plan_.fingerprint)) options_.mode = DestinationMode::overwrite;
  }

  const RewriteOptions& asked_;
  Progress& progress_;
  const std::shared_ptr<const BaseVersion> base_;
  const Layers layers_;
  RemainingLayers remaining_;
  PackOptions options_;
  Plan plan_{.rewritten = RewrittenShards{}};
  std::unique_ptr<Source> source_;
  Quarantine quarantine_;
  UnwantedFiles unwanted_;  // in the cache
  RewriteReport report_;
};

}  // namespace

void throw_if_not_rewritable(const std::string& directory) {
  throw_if_not_rewritable(manifest_to_change(directory), directory);
}

RewriteReport rewrite(const RewriteOptions& options, Progress& progress) { return Rewriting(options, progress).run(); }

}  // namespace bale
