#include "bale/writer/add/addition.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/options/option_values.hpp"
#include "bale/formats/base/progress.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/formats/shard/shard_index.hpp"
#include "bale/formats/storage/objects/object_store.hpp"
#include "bale/reader/dataset/class_merge.hpp"
#include "bale/reader/version.hpp"
#include "bale/writer/add.hpp"
#include "bale/writer/change/layer_change.hpp"
#include "bale/writer/edits/image_edits.hpp"
#include "bale/writer/journal/journal.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/plan/dataset_files.hpp"
#include "bale/writer/plan/plan.hpp"
#include "bale/writer/publish/removal_list.hpp"
#include "bale/writer/publish/run_decision.hpp"
#include "bale/writer/run/objects/object_decision.hpp"
#include "bale/writer/run/version_stage.hpp"
#include "bale/writer/shard/shard_copy.hpp"
#include "bale/writer/source/choose/chosen_source.hpp"
#include "bale/writer/source/classes/labels.hpp"
#include "bale/writer/source/source.hpp"

namespace bale {
namespace {

// The samples of a source that a dataset has already, or has no longer.

class Search {
 public:
  Search(const Source& source, const PackOptions& options, const LayerChange* change, bool compares)
      : source_(source),
        change_(change),
        compares_(compares),
        edits_images_(!describe_edits(options.edits, false).empty()),
        editor_(options.edits, false, options.max_pixels) {
    by_hash_.reserve(source.size());
    for (std::uint64_t i = 0; i < source.size(); ++i) {
      source.describe(i, described_);
      by_hash_.emplace(hash_key(described_.key), i);
    }
  }

  void look_in(std::size_t shard, const std::string& path, const ShardIndex& index) {
    for (std::uint64_t row = 0; row < index.size(); ++row) {
      const auto [begin, end] = by_hash_.equal_range(hash_key(index.key(row)));
      for (auto it = begin; it != end; ++it) {
        source_.describe(it->second, described_);
        if (described_.key != index.key(row)) continue;
        if (change_ != nullptr && change_->removes(shard, static_cast<std::uint32_t>(row))) continue;
        if (compares_) compare(it->second, path, index, row);
        found_.push_back(it->second);
      }
    }
  }

  std::vector<std::uint64_t> found() {
    std::sort(found_.begin(), found_.end());
    return std::move(found_);
  }

 private:
  void compare(std::uint64_t i, const std::string& path, const ShardIndex& index, std::uint64_t row) {
    const SampleView read = source_.read(i, scratch_);
    const SampleView sample = edits_images_ ? editor_.apply(read) : read;
    if (sample.label != index.label(row)) refuse(i, path, index.key(row), "has another label");
    std::size_t num_fields = 0;
    for (const auto& [id, extent] : index.row(row)) {
      const std::string& name = index.fields()[id].name;
      const FieldView* const field = sample.find(name);
      if (field == nullptr && is_in_layer(extent)) continue;  // it was set later
      if (field == nullptr || crc32c(field->bytes) != extent.crc32c) {
        refuse(i, path, index.key(row), fmt::format("has another field {}", printable(name)));
      }
      ++num_fields;
    }
    if (num_fields != sample.fields.size()) refuse(i, path, index.key(row), "has fewer fields");
  }

  [[noreturn]] void refuse(std::uint64_t i, const std::string& path, std::string_view key,
                           const std::string& how) const {
    throw Error(ErrorCode::invalid_argument, fmt::format("the sample of this key in {} {}", shown_name(path), how),
                {.path = source_.origin(i),
                 .key = std::string(key),
                 .hint = "what was packed is never changed: give the new one another name, or leave it out with "
                         "`exclude_from`"});
  }

  const Source& source_;
  const LayerChange* const change_;
  const bool compares_;
  const bool edits_images_;
  ImageEditor editor_;
  Scratch scratch_;
  SourceSample described_;
  std::unordered_multimap<std::uint64_t, std::uint64_t> by_hash_;
  std::vector<std::uint64_t> found_;
};

/// What was removed of a dataset, compared with new samples.
class RemovedSearch {
 public:
  RemovedSearch(const Source& source, const PackOptions& options, RemovalList removed)
      : source_(source),
        removed_(std::move(removed)),
        keeps_bytes_(options.format.layout->keeps_bytes),
        edits_images_(!describe_edits(options.edits, false).empty()),
        editor_(options.edits, false, options.max_pixels) {}

  /// What of the sample was removed: its key, its image, or nothing.
  const char* find(std::uint64_t i) {
    source_.describe(i, described_);
    if (removed_.has_key(described_.key)) return "key";
    return keeps_bytes_ && may_have_image() && has_image(i) ? "image" : nullptr;
  }
  const std::string& key() const { return described_.key; }

 private:
  bool may_have_image() const {
    return edits_images_ || std::any_of(described_.fields.begin(), described_.fields.end(), [&](const auto& field) {
             return is_image_field(source_.fields()[field.id]) && removed_.may_have_image(field.bytes);
           });
  }

  bool has_image(std::uint64_t i) {
    try {
      const SampleView read = source_.read(i, scratch_);
      const SampleView sample = edits_images_ ? editor_.apply(read) : read;
      const FieldView* const image = sample.find_image();
      return image != nullptr && removed_.has_image(image->bytes);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::interrupted || is_lack_of_resources(error)) throw;
      return false;  // packing says what is wrong with it
    }
  }

  const Source& source_;
  const RemovalList removed_;
  const bool keeps_bytes_;
  const bool edits_images_;
  ImageEditor editor_;
  Scratch scratch_;
  SourceSample described_;
};

/// Throws `invalid_argument` if a sample with the key or the image of one of `source` was removed.
/// Images are compared as they would be packed, in layouts that keep bytes; they are read if their sizes do not tell.
void require_none_removed(const Source& source, const PackOptions& options, RemovalList removed, Progress& progress) {
  if (removed.empty()) return;
  RemovedSearch search(source, options, std::move(removed));
  const char* what = nullptr;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::string key;
  for (std::uint64_t i = 0; i < source.size(); ++i) {
    progress.throw_if_stopped();
    const char* const found = search.find(i);
    if (found == nullptr || count++ != 0) continue;
    what = found;
    first = i;
    key = search.key();
  }
  if (what == nullptr) return;
  const std::string more = count == 1 ? "" : fmt::format(", and {} more of the new samples", count - 1);
  throw Error(ErrorCode::invalid_argument,
              fmt::format("a sample with this {} was removed from the dataset {}{}", what,
                          shown_name(options.destination), more),
              {.path = source.origin(first),
               .key = std::move(key),
               .hint = "leave it out by `exclude_from`, or take it with `allow_removed`"});
}

/// Samples of `source` that the dataset has after `change`, ascending. With `compares`, each is compared with what the
/// index says of the other: throws `invalid_argument` if label or bytes differ. Reads every index of the dataset.
/// Memory: 16 bytes per sample of the source, and one index.
std::vector<std::uint64_t> find_existing(const Source& source, const Manifest& manifest, const LayerChange* change,
                                         const PackOptions& options, bool compares, Progress& progress) {
  Search search(source, options, change, compares);
  const Layers layers(options.destination, manifest);
  for (std::size_t number = 0; number < manifest.shards.size(); ++number) {
    progress.throw_if_stopped();
    const ManifestShard& shard = manifest.shards[number];
    const std::string path = join_path(options.destination, shard.file);
    search.look_in(number, path, load_index_of(path, shard, layers));
  }
  return search.found();
}

[[noreturn]] void refuse(const std::string& path, std::string why, std::string hint) {
  throw Error(ErrorCode::invalid_argument, std::move(why), {.path = path, .hint = std::move(hint)});
}

bool has_labels(const Source& source) {
  for (std::uint64_t i = 0; i < source.size(); ++i) {
    if (source.label(i) != k_no_label) return true;
  }
  return false;
}

std::string_view form_text(KeyForm form) { return form == KeyForm::plain ? "not encoded" : key_form_name(form); }

}  // namespace

Addition::Addition(std::unique_ptr<Source> source, const PackOptions& options, const AddRules& rules)
    : given_(std::move(source)), options_(options), rules_(rules) {
  require_apart(given_->places(), options_);
  if (rules.skip_existing && !options.format.layout->keeps_bytes) {
    refuse(options.destination, "`skip_existing` needs the bytes that were packed, and this dataset has pixels",
           "leave it out");
  }
}

bool Addition::fit(Manifest manifest, Progress& progress, const LayerChange* change) {
  source_ = given_;
  added_ = {.parent = version_id(manifest)};
  base_ = std::make_shared<const BaseVersion>(BaseVersion{.manifest = std::move(manifest), .id = added_.parent});
  require_same_keys();
  if (!rules_.allow_removed) {
    require_none_removed(*source_, options_,
                         change != nullptr ? change->removed() : RemovalList::load(options_.destination, base()),
                         progress);
  }
  take_classes();
  return leave_out_existing(change, progress);
}

Plan Addition::plan() const { return make_plan(*source_, options_, base_); }

void Addition::require_same_keys() const {
  const KeyForm theirs = base().keys;
  const KeyForm ours = source_->key_form();
  if (ours == theirs) return;
  refuse(options_.destination,
         fmt::format("its keys are {}, and those of the new samples are {}", form_text(theirs), form_text(ours)),
         ours == KeyForm::with_extensions || theirs == KeyForm::with_extensions
             ? "give `keep_extensions` as it was given when the dataset was packed"
             : "`bale convert 'A::B' DST` makes one dataset of both");
}

/// The dataset's classes keep their numbers. New ones get the next.
void Addition::take_classes() {
  const std::vector<std::string>& ours = source_->classes();
  if (ours == base().classes) return;
  if (ours.empty() != base().classes.empty()) {
    const auto has_numbers = [](const std::string& field) { return has_class_numbers(field, /*has_labels=*/true); };
    const auto is_label = [&](const ManifestField& field) {
      return field.name == k_label_field || has_numbers(field.name);
    };
    const bool are_labeled = std::any_of(base().fields.begin(), base().fields.end(), is_label);
    const bool is_numbered = std::any_of(source_->fields().begin(), source_->fields().end(), has_numbers);
    if (ours.empty() ? is_numbered || has_labels(*source_) : are_labeled) {
      refuse(options_.destination,
             fmt::format("{} names of classes, and the {} not", ours.empty() ? "has" : "the new samples have",
                         ours.empty() ? "new samples do" : "dataset does"),
             "give `class_map`, or pack both with names of classes");
    }
  }
  ClassNumbers known(base().classes);
  const std::vector<std::string> places = source_->places();
  std::vector<std::int64_t> numbers =
      known.add({.path = places.empty() ? std::string() : places.front(), .classes = ours});
  std::vector<std::string> all = known.classes();
  added_.new_classes.assign(all.begin() + static_cast<std::ptrdiff_t>(base().classes.size()), all.end());
  if (all == ours) return;
  const bool are_labeled = has_labels(*source_);
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    if (numbers[n] == static_cast<std::int64_t>(n) || ours[n].empty()) continue;
    for (const std::string& field : source_->fields()) {
      if (!has_class_numbers(field, are_labeled)) continue;
      refuse(options_.destination,
             fmt::format("class \"{}\" has the number {} here and {} in the new samples, whose field {} has numbers of "
                         "classes inside",
                         printable(ours[n]), numbers[n], n, printable(field)),
             "make the new annotations with the classes of the dataset, in its order");
    }
  }
  source_ = renumber_classes(source_, std::move(all), LabelMap(options_.destination, std::move(numbers)));
}

bool Addition::leave_out_existing(const LayerChange* change, Progress& progress) {
  const std::vector<std::uint64_t> existing =
      find_existing(*source_, base(), change, options_, rules_.skip_existing, progress);
  if (existing.empty()) return source_->size() != 0;
  if (!rules_.skip_existing) {
    SourceSample sample;
    source_->describe(existing.front(), sample);
    const std::string more =
        existing.size() == 1 ? "" : fmt::format(", and those of {} more of the new samples", existing.size() - 1);
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the dataset {} has this key{}", shown_name(options_.destination), more),
                {.path = source_->origin(existing.front()),
                 .key = sample.key,
                 .hint = "leave out what it has with `skip_existing`, or by `exclude_from`"});
  }
  std::vector<std::uint64_t> kept;
  auto next = existing.begin();
  for (std::uint64_t i = 0; i < source_->size(); ++i) {
    if (next != existing.end() && *next == i) {
      ++next;
    } else {
      kept.push_back(i);
    }
  }
  added_.num_existing = existing.size();
  source_ = choose_samples(source_, std::move(kept));
  return source_->size() != 0;
}

void require_may_add(const PackOptions& options, const Plan& plan, const ListSamples& samples) {
  is_object_store(options.destination) ? require_may_run_objects(options, plan)
                                       : require_may_run(options, plan, samples);
}

void finish_replacement_at(const PackOptions& options) {
  if (is_object_store(options.destination)) return;  // it has no journal
  const JournalContent left = Journal::look(options.destination);
  if (!left.replacement || (left.is_resumed_on_request() && options.mode == DestinationMode::fresh)) return;
  Journal journal = Journal::open(options.destination);
  if (journal.content().replacement) journal.finish_replacement();
  journal.remove();
}

// The options of a run that adds to a dataset, as the dataset says.

namespace {

constexpr int k_compress_level = 3;  // of fields that are compressed in the dataset

[[noreturn]] void refuse(const std::string& directory, ErrorCode code, std::string why, std::string hint) {
  throw Error(code, std::move(why), {.path = directory, .hint = std::move(hint)});
}

std::uint32_t number_of(const ImageEditNames& edits, const std::string& name) {
  const auto found = edits.find(name);
  return found == edits.end() ? 0 : whole_number<std::uint32_t>(found->second).value_or(0);
}

/// The edits that describe_edits() gave these names. What holds for some images only is not repeated.
ImageEdits edits_of(const std::string& directory, const Manifest& manifest, bool as_pixels) {
  ImageEditNames common = manifest.edits;
  std::erase_if(common, [](const auto& edit) { return edit.second.ends_with(k_some_images); });
  ImageEdits edits{.resize_short = number_of(common, "resize_short"),
                   .resize_max = number_of(common, "resize_max"),
                   .orient = common.contains("orient"),
                   .strip_metadata = common.contains("metadata"),
                   .jpeg_lossless = common.contains("jpeg_coding")};
  if (const std::uint32_t quality = number_of(common, "jpeg_quality"); quality != 0)
    edits.quality = static_cast<int>(quality);
  const ImageEditNames repeated = describe_edits(edits, as_pixels);
  for (const auto& [name, value] : common) {
    const auto found = repeated.find(name);
    if (found != repeated.end() && (found->second == value || name == "jpeg_encoder")) continue;
    refuse(directory, ErrorCode::unsupported,
           fmt::format("its images were changed in a way that cannot be repeated: {} {}", printable(name),
                       printable(value)),
           "pack the new images as these were packed, and `bale merge` both");
  }
  return edits;
}

/// The side of the images in a layout of pixels, if all have one size.
std::string side_of_images(const std::string& directory, const Manifest& manifest) {
  std::uint32_t side = 0;
  for (const ManifestShard& shard : manifest.shards) {
    const ShardIndex index = load_index_of(join_path(directory, shard.file), shard);
    if (index.size() == 0) continue;  // all images of a shard have one size
    if (index.width(0) != index.height(0) || (side != 0 && index.width(0) != side)) return {};
    side = index.width(0);
  }
  return side == 0 ? std::string() : fmt::to_string(side);
}

}  // namespace

Manifest manifest_to_change(const std::string& directory) {
  return parse_manifest(read_current_manifest(directory).text, join_path(directory, k_manifest_name));
}

PackOptions options_as_packed(PackOptions asked, const Manifest& manifest) {
  const std::string& directory = asked.destination;
  asked.format = find_format(manifest.format, manifest.layout);
  const Layout& layout = *asked.format.layout;
  if (layout.counted) {
    refuse(directory, ErrorCode::unsupported,
           fmt::format("the names of {}.{} shards have their number, which would change", manifest.format,
                       manifest.layout),
           "`bale convert 'A::B' DST` makes one dataset of both");
  }
  asked.name = manifest.name;
  asked.sidecars = sidecars_in_all({&manifest}, layout);
  asked.seek_points = layout.keeps_bytes && all_have_seek_points({&manifest});
  for (const ManifestField& field : manifest.fields) {
    if (field.codec == name_of(Codec::zstd) && !asked.compress_level) asked.compress_level = k_compress_level;
    if (field.codec == name_of(Codec::planes)) asked.jpeg_planes = true;
  }
  return asked;
}

PackOptions options_to_add(PackOptions asked) {
  const Manifest manifest = manifest_to_change(asked.destination);
  asked = options_as_packed(std::move(asked), manifest);
  const std::string& directory = asked.destination;
  const Layout& layout = *asked.format.layout;
  if (!asked.splits.empty()) {
    refuse(directory, ErrorCode::invalid_argument, "`split` of samples that are added", "add to each split");
  }
  asked.edits = edits_of(directory, manifest, !layout.keeps_bytes);
  if (!layout.keeps_bytes && !asked.format_options.contains("size")) {
    if (std::string side = side_of_images(directory, manifest); !side.empty()) asked.format_options["size"] = side;
  }
  return asked;
}

}  // namespace bale
