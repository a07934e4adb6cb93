#include "bale/writer/merge/merge_shards.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/shard_name.hpp"
#include "bale/reader/dataset/keys/names_apart.hpp"
#include "bale/reader/spec/dataset_spec.hpp"
#include "bale/reader/spec/shard_place.hpp"
#include "bale/reader/version.hpp"
#include "bale/writer/journal/journal_lines.hpp"
#include "bale/writer/merge_datasets.hpp"
#include "bale/writer/plan/dataset_files.hpp"
#include "bale/writer/publish/removal_list.hpp"
#include "bale/writer/run/pack_run.hpp"
#include "bale/writer/shard/shard_copy.hpp"
#include "bale/writer/shard/shard_job.hpp"

namespace bale {
namespace {

constexpr int k_compress_level = 3;  // of fields that were compressed, in shards that are written again

[[noreturn]] void refuse(const FinishedDataset& dataset, std::string why, std::string hint) {
  throw Error(ErrorCode::invalid_argument, std::move(why), {.path = dataset.directory, .hint = std::move(hint)});
}

/// One shard of the sources.
struct JoinedShard {
  const FinishedDataset* dataset;
  const Layers* layers;  // of the dataset
  const ManifestShard* shard;
  bool is_copied = true;    // false: its classes get other numbers, or a layer touches it
  std::uint64_t first = 0;  // number of its first sample among all

  std::string path() const { return place_of_shard(join_path(dataset->directory, shard->file)); }
};

std::string_view label_base(const FinishedDataset& dataset) {
  return dataset.manifest.label_base.empty() ? "0" : std::string_view(dataset.manifest.label_base);
}

std::string_view keys_text(const FinishedDataset& dataset) {
  return dataset.manifest.keys == KeyForm::plain ? "not encoded" : key_form_name(dataset.manifest.keys);
}

void require_alike(const std::vector<FinishedDataset>& datasets) {
  const FinishedDataset& first = datasets.front();
  for (const FinishedDataset& other : datasets) {
    if (other.manifest.format != first.manifest.format || other.manifest.layout != first.manifest.layout) {
      refuse(other,
             fmt::format("is {}.{}, and {} is {}.{}", other.manifest.format, other.manifest.layout,
                         printable(first.directory), first.manifest.format, first.manifest.layout),
             "`bale convert 'A::B' DST` makes one dataset of both");
    }
    if (label_base(other) != label_base(first)) {
      refuse(other,
             fmt::format("its files number classes from {} on, and those of {} from {}", printable(label_base(other)),
                         printable(first.directory), printable(label_base(first))),
             "`bale convert 'A::B' DST` makes one dataset of both");
    }
    if (other.manifest.keys != first.manifest.keys) {
      refuse(other,
             fmt::format("its keys are {}, and those of {} are {}", keys_text(other), printable(first.directory),
                         keys_text(first)),
             "`bale convert 'A::B' DST` makes one dataset of both");
    }
  }
}

/// The samples that the datasets left out: those of later versions follow. Copies of their files stay where they are.
std::vector<SkippedSample> skipped_by(const FinishedDataset& dataset) {
  std::vector<SkippedSample> skipped;
  if (dataset.manifest.num_skipped == 0) return skipped;
  const std::string path = join_path(dataset.directory, k_ledger_name);
  const std::vector<std::byte> text = read_file(path);
  std::string_view rest = as_text(text);
  std::uint64_t num_skipped = 0;
  while (!rest.empty() && num_skipped < dataset.manifest.num_skipped) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    try {
      skipped.push_back(skipped_from_json(parse_json(line)));
      num_skipped += skipped.back().num_samples.value_or(1);
    } catch (const Error&) {
      throw Error(ErrorCode::damaged, "is not a list of skipped samples", {.path = path});
    }
    for (std::string& copy : skipped.back().quarantined) copy = join_path(dataset.directory, copy);
  }
  return skipped;
}

class Join {
 public:
  Join(const std::vector<FinishedDataset>& datasets, const ShardMergeOptions& options, Progress& progress)
      : datasets_(datasets), link_(options.link), allow_removed_(options.allow_removed), progress_(progress) {
    require_alike(datasets);
    const Manifest& first = datasets.front().manifest;
    options_ = {.destination = options.destination,
                .format = find_format(first.format, first.layout),
                .name = options.name,
                .default_name = options.default_name,
                .jobs = options.jobs,
                .mode = options.mode,
                .on_warning = options.on_warning};
    if (!first.label_base.empty()) options_.format_options["label_base"] = first.label_base;
    open_source();
    take_shards();
    std::vector<const Manifest*> manifests;
    for (const FinishedDataset& dataset : datasets) manifests.push_back(&dataset.manifest);
    options_.sidecars = sidecars_in_all(manifests, *options_.format.layout);
    options_.seek_points = all_have_seek_points(manifests);
    check_samples();
    make_plan(options.beside_parts);
    keep_removals();
  }

  PackReport run() {
    PackWork work{.plan = plan_, .places = source_->places(), .facts = facts_of(*source_), .write = {}};
    work.samples = [this](const SampleVisitor& visit) {
      for (const JoinedShard& joined : shards_) visit(joined.path(), hash_key(joined.shard->digest));
    };
    work.facts.keys = datasets_.front().manifest.keys;
    work.facts.removals = std::move(removals_);
    // Parts lie in the destination.
    if (plan_.beside_parts) work.places.clear();
    for (const FinishedDataset& dataset : datasets_) {
      for (SkippedSample& sample : skipped_by(dataset)) work.facts.skipped.push_back(std::move(sample));
    }
    work.write = [this](const Slot& slot, const std::string& staged) { return write(slot.shard, staged); };
    return pack_planned(work, options_, progress_);
  }

 private:
  /// The datasets read as one, which merges their classes.
  void open_source() {
    std::vector<std::string> places;
    for (const FinishedDataset& dataset : datasets_) {
      if (dataset.manifest.shards.empty()) continue;
      if (dataset.directory.find("::") != std::string::npos) {
        refuse(dataset, "has \"::\" in its path, which separates datasets", "rename it, or use another path to it");
      }
      places.push_back(dataset.spec);
    }
    if (places.empty()) refuse(datasets_.front(), "there is no sample to merge", "name datasets that have samples");
    source_ = open_packed_source(joined(places, "::"), {.keys_name_files = options_.format.layout->keys_name_files});
  }

  void take_shards() {
    std::uint64_t first = 0;
    for (const FinishedDataset& dataset : datasets_) {
      if (dataset.manifest.removals.empty()) continue;
      removed_.emplace(&dataset, RemovalList::load(dataset.directory, dataset.manifest));
    }
    for (const FinishedDataset& dataset : datasets_) {
      if (dataset.manifest.shards.empty()) continue;
      const bool is_copied = keeps_numbers(dataset);
      const Layers& layers = layers_.emplace_back(dataset.directory, dataset.manifest);
      if (is_copied && !layers.empty())
        require_can_be_written(dataset, "samples are removed from it, or have other labels");
      for (const ManifestShard& shard : dataset.manifest.shards) {
        shards_.push_back({.dataset = &dataset,
                           .layers = &layers,
                           .shard = &shard,
                           .is_copied = is_copied && layers.of(shard.digest) == nullptr,
                           .first = first});
        first += shard.num_samples;
      }
    }
  }

  /// Whether the classes of a dataset have the same numbers in the joined one. If not, whether its shards can be
  /// written again.
  bool keeps_numbers(const FinishedDataset& dataset) {
    const std::vector<std::string>& own = dataset.manifest.classes;
    const std::vector<std::string>& all = source_->classes();
    const auto [moved, place] = std::mismatch(own.begin(), own.end(), all.begin(), all.end());
    if (moved == own.end()) return true;
    const auto number = std::find(all.begin(), all.end(), *moved) - all.begin();
    const std::string why = fmt::format("its class \"{}\" would get the number {} instead of {}", printable(*moved),
                                        number, moved - own.begin());
    require_can_be_written(dataset, why);
    return false;
  }

  /// Some of its shards will be written again.
  void require_can_be_written(const FinishedDataset& dataset, const std::string& why) {
    if (!options_.format.layout->keeps_bytes) {
      refuse(dataset, why + ", and shards of pixels are not written again", "pack the images again from both sources");
    }
    for (const ManifestField& field : dataset.manifest.fields) {
      if (field.codec == name_of(Codec::zstd)) options_.compress_level = k_compress_level;
      if (field.codec == name_of(Codec::planes)) options_.jpeg_planes = true;
    }
  }

  void check_samples() const {
    const auto keys_of = [&](std::size_t n, const KeyVisitor& visit) {
      progress_.throw_if_stopped();
      const ShardIndex index = load_index_of(shards_[n].path(), *shards_[n].shard, *shards_[n].layers);
      if (!source_->classes().empty()) require_names(shards_[n], index);
      if (!allow_removed_) require_none_removed(shards_[n], index);
      for (std::uint64_t i = 0; i < index.size(); ++i) visit(index.key(i));
    };
    if (const auto repeated = find_repeated_key(shards_.size(), keys_of)) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{} and {} have the same key", shown_name(shards_[repeated->first].path()),
                              shown_name(shards_[repeated->second].path())),
                  {.key = repeated->key,
                   .hint = "`bale convert 'A::B' DST` tells their keys apart; or leave the sample out of one by "
                           "`bale convert --where`, and merge what that writes"});
    }
  }

  /// A sample that one dataset removed would come back from another.
  void require_none_removed(const JoinedShard& joined, const ShardIndex& index) const {
    for (const auto& [dataset, removed] : removed_) {
      for (std::uint64_t i = 0; dataset != joined.dataset && i < index.size(); ++i) {
        Scratch scratch;
        const auto read = [&] {
          const FieldView* const image = source_->read(joined.first + i, scratch).find_image();
          return image != nullptr ? image->bytes : Bytes();
        };
        if (!removed.has_sample(index, i, read)) continue;
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("this sample, or its image, was removed from {}", shown_name(dataset->directory)),
            {.path = joined.path(),
             .key = std::string(index.key(i)),
             .hint = "remove it here, too, by `bale remove --from` the list of `bale log --removed`, or take it "
                     "with `allow_removed`"});
      }
    }
  }

  /// The lists of removed samples become one.
  void keep_removals() {
    RemovalList all;
    for (const auto& [dataset, removed] : removed_) all.add(removed);
    if (all.empty()) return;
    std::string text = all.text();
    removals_.push_back(describe_removals(all, text));
    DigestStream stream;
    stream.update(as_bytes(fmt::format("{}\nremoved {}\n", plan_.fingerprint, removals_.back().digest)));
    plan_.fingerprint = digest_text(stream.digest());
    plan_.files.push_back({removal_list_name(removals_.back().digest), std::move(text)});
  }

  /// A label without a name would get one of another dataset's classes.
  static void require_names(const JoinedShard& joined, const ShardIndex& index) {
    const auto num_classes = static_cast<std::int64_t>(joined.dataset->manifest.classes.size());
    for (std::uint64_t i = 0; i < index.size(); ++i) {
      if (index.label(i) < num_classes) continue;
      throw Error(ErrorCode::damaged,
                  fmt::format("label {} has no name: the dataset names {} classes", index.label(i), num_classes),
                  {.path = joined.path(),
                   .key = std::string(index.key(i)),
                   .hint = "pack it again with a name for each class"});
    }
  }

  /// What counts as progress of a shard that is written again.
  std::uint64_t payload_of(const JoinedShard& joined) const {
    SourceSample sample;
    std::uint64_t bytes = 0;
    for (std::uint64_t i = joined.first; i < joined.first + joined.shard->num_samples; ++i) {
      source_->describe(i, sample);
      bytes += sample.total_bytes();
    }
    return bytes;
  }

  void make_plan(bool beside_parts) {
    PlannedDataset& planned = plan_.datasets.emplace_back();
    planned.name = dataset_name(options_);
    DigestStream stream;
    stream.update(as_bytes(fingerprint_of_options("merge", options_, source_->classes())));
    stream.update(as_bytes(fmt::format("dataset {}\n", planned.name)));
    for (std::size_t n = 0; n < shards_.size(); ++n) {
      const ManifestShard& shard = *shards_[n].shard;
      planned.shards.push_back({.file = shard_file_name(*options_.format.layout, planned.name, n, shards_.size()),
                                .begin = shards_[n].first,
                                .end = shards_[n].first + shard.num_samples,
                                .bytes = shards_[n].is_copied ? shard.bytes : payload_of(shards_[n])});
      stream.update(as_bytes(fmt::format("shard {} {} {}\n", shard.digest, shard.num_samples, shards_[n].is_copied)));
      plan_.num_samples += shard.num_samples;
      plan_.num_bytes += planned.shards.back().bytes;
    }
    plan_.fingerprint = digest_text(stream.digest());
    plan_.facts = facts_of_options(options_, source_->classes());
    plan_.facts["name"] = planned.name;
    plan_.facts["shards"] = fmt::to_string(shards_.size());
    plan_.facts["samples"] = fmt::to_string(plan_.num_samples);
    plan_.beside_parts = beside_parts;
  }

  FinishedShard write(const PlannedShard& shard, const std::string& staged) {
    const auto begins_later = [](const JoinedShard& other, std::uint64_t begin) { return other.first < begin; };
    const JoinedShard& joined = *std::lower_bound(shards_.begin(), shards_.end(), shard.begin, begins_later);
    if (joined.is_copied) {
      return copy_shard(
          {.from = joined.path(), .shard = *joined.shard, .link = link_, .file = shard.file, .staged_path = staged},
          options_, progress_);
    }
    return write_shard({.source = *source_,
                        .options = options_,
                        .dataset = plan_.datasets.front(),
                        .shard = shard,
                        .quarantine = quarantine_,
                        .staged_path = staged},
                       progress_);
  }

  const std::vector<FinishedDataset>& datasets_;
  const bool link_;
  const bool allow_removed_;
  Progress& progress_;
  PackOptions options_;
  std::unique_ptr<Source> source_;
  std::deque<Layers> layers_;                              // of the datasets; shards point to them
  std::map<const FinishedDataset*, RemovalList> removed_;  // of those that have one
  std::vector<JoinedShard> shards_;
  Plan plan_;
  std::vector<ManifestRemovals> removals_;
  Quarantine quarantine_;
};

}  // namespace

std::vector<FinishedDataset> load_finished(const std::vector<std::string>& specs) {
  std::vector<FinishedDataset> datasets;
  for (const std::string& directory : specs) {
    if (names_version(directory)) {
      const DatasetPart part = resolve_dataset(directory).parts.front();
      datasets.push_back({part.directory, part.load(), directory});
      continue;
    }
    const std::string path = join_path(directory, k_manifest_name);
    try {
      datasets.push_back({directory, load_manifest(path), directory});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::not_found) throw;
      throw Error(
          ErrorCode::not_found, "is not a directory of a packed dataset: there is no manifest.json",
          {.path = directory, .hint = "name directories that bale packed; `bale convert` takes shards of any program"});
    }
  }
  return datasets;
}

PackReport merge_shards(const std::vector<FinishedDataset>& datasets, const ShardMergeOptions& options,
                        Progress& progress) {
  return Join(datasets, options, progress).run();
}

PackReport merge_datasets(const DatasetMergeOptions& options, Progress& progress) {
  require_local_name(options.destination, UrlUse::writing);
  if (options.mode > DestinationMode::overwrite) {
    throw Error(ErrorCode::invalid_argument, "mode is none of DestinationMode");
  }
  const std::vector<FinishedDataset> datasets = load_finished(options.sources);
  if (datasets.empty()) throw Error(ErrorCode::invalid_argument, "nothing to merge: no dataset is named");
  return merge_shards(datasets,
                      {.destination = options.destination,
                       .name = options.name,
                       .link = options.link,
                       .allow_removed = options.allow_removed,
                       .jobs = options.jobs,
                       .mode = options.mode,
                       .on_warning = options.on_warning},
                      progress);
}

}  // namespace bale
