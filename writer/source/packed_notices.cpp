#include "bale/writer/source/packed_notices.hpp"

#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>

#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/contained_name.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/base/text/key_text.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/writer/source/classes/labels.hpp"

namespace bale {
namespace {

using At = std::function<std::uint64_t(std::uint64_t)>;

/// Warns if keys begin with the names of their shards, because the shards repeat keys.
void note_told_apart(const Dataset& dataset, const SampleKeys& keys, std::uint64_t size, const At& at, NoticeLog& log) {
  if (!keys.are_told_apart() || size == 0) return;
  const std::string first = keys.name(dataset.position(at(0)).first, dataset.key(at(0)));
  log.warn(fmt::format("shards repeat keys: each key begins with the name of its shard (such as \"{}\")",
                       printed_key(first)));
}

/// Warns of keys that lead outside the directory into which another program unpacks them.
void note_relative_keys(const Dataset& dataset, std::uint64_t size, const At& at, NoticeLog& log) {
  std::uint64_t count = 0;
  std::string first;
  for (std::uint64_t i = 0; i < size; ++i) {
    const auto [number, sample] = dataset.position(at(i));
    const IndexInUse held = dataset.use_index(number);
    if (!leads_outside(held->key(sample))) continue;
    if (count++ == 0) first = held->key(sample);
  }
  if (count == 0) return;
  log.warn(fmt::format("{} absolute or with \"..\": made relative (such as \"{}\")", plural(count, "key"),
                       printed_key(first)));
}

/// Warns of images that only one sample has under their field's name, such as "2.jpg" of "IMG.1.jpg" and "IMG.2.jpg",
/// or that samples without another image have while others have one: a tar of a folder, whose names were split at the
/// first dot.
void note_split_names(const Dataset& dataset, std::uint64_t size, const At& at, NoticeLog& log) {
  if (dataset.manifest()) return;
  struct Split {
    std::uint64_t first = 0;    // sample
    std::uint64_t samples = 0;  // that have the field
    std::uint64_t alone = 0;    // of these, without an image by its name alone
  };
  std::map<std::string, Split> split;  // by field
  for (const std::string& field : dataset.fields()) {
    if (is_image_name(field) && field.find('.') != std::string::npos) split.try_emplace(field);
  }
  bool has_whole = false;
  for (std::uint64_t i = 0; i < size && !split.empty(); ++i) {
    const auto [number, sample] = dataset.position(at(i));
    const IndexInUse index = dataset.use_index(number);
    bool is_whole = false;
    for (const auto& [f, extent] : index->row(sample)) is_whole = is_whole || is_image_field(index->fields()[f].name);
    has_whole = has_whole || is_whole;
    for (const auto& [f, extent] : index->row(sample)) {
      const auto found = split.find(index->fields()[f].name);
      if (found == split.end()) continue;
      if (found->second.samples++ == 0) found->second.first = i;
      if (!is_whole) ++found->second.alone;
    }
  }
  std::erase_if(split, [&](const auto& field) {
    const Split& found = field.second;
    return found.samples != 1 && (!has_whole || found.samples == 0 || found.alone != found.samples);
  });
  std::uint64_t images = 0;
  for (const auto& [field, found] : split) images += found.samples;
  if (images == 0 || size + images <= 2) return;
  const auto& [field, found] = *split.begin();
  log.warn(
      fmt::format("names split at the first dot, as WebDataset's do, so {} are further fields of a sample "
                  "({} has {}); if each file is a sample, pack the unpacked folder or a ZIP of it",
                  plural(images, "image"), printed_key(dataset.key(at(found.first))), printable(field)));
}

/// Warns of samples of another program that have no image.
void note_imageless(const Dataset& dataset, std::uint64_t size, const At& at, NoticeLog& log) {
  if (dataset.manifest() || size == 0) return;
  std::uint64_t count = 0;
  std::uint64_t first = 0;
  for (std::uint64_t i = 0; i < size; ++i) {
    const auto [number, sample] = dataset.position(at(i));
    const IndexInUse index = dataset.use_index(number);
    bool has_image = index->image_field(sample).has_value();
    for (const auto& [f, extent] : index->row(sample)) has_image = has_image || is_image_name(index->fields()[f].name);
    if (!has_image && count++ == 0) first = i;
  }
  if (count == 0) return;
  log.warn(
      fmt::format("{} of {} samples have no image (such as \"{}\")", count, size, printed_key(dataset.key(at(first)))));
}

}  // namespace

NoticeLog notices_of_packed(const Dataset& dataset, const SampleKeys& keys, std::uint64_t size, const At& at) {
  NoticeLog log;
  note_told_apart(dataset, keys, size, at, log);
  note_relative_keys(dataset, size, at, log);
  note_split_names(dataset, size, at, log);
  note_imageless(dataset, size, at, log);
  return log;
}

bool has_made_keys(const Dataset& dataset) {
  if (dataset.size() == 0) return false;
  const auto [number, sample] = dataset.position(0);
  return dataset.key(0) == made_key(base_name(dataset.shard_path(number)), sample);
}

NoticeLog label_fields_notice(const Dataset& dataset) {
  NoticeLog log;
  for (const std::string& field : dataset.fields()) {
    if (field == k_label_field) {
      log.warn(fmt::format("no sample has a label: the texts of \"{}\" are not numbers; `class_map` can number them",
                           field));
      break;
    }
    const std::string_view stem = std::string_view(field).substr(0, field.find('.'));
    const bool is_known = std::find(k_label_columns.begin(), k_label_columns.end(), stem) != k_label_columns.end();
    if (!is_known && stem != k_label_field) continue;
    const bool has_texts = !field.ends_with(fmt::format(".{}", k_array_field)) && !field.ends_with(".json");
    log.warn(fmt::format(
        "no sample has a label: \"{}\" stays a field, which loaders {}", printable(field),
        has_texts ? "take for labels by `label_field` if its texts are numbers" : "deliver in addition by `fields`"));
    break;
  }
  return log;
}

}  // namespace bale
