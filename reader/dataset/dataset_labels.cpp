// Classes and labels of datasets that are read together.
#include "bale/reader/dataset/dataset_state.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace bale {

bool Dataset::State::has_labels(std::size_t part) const {
  for (std::size_t number = 0; number < entries.size(); ++number) {
    if (entries[number].part != part) continue;
    const IndexInUse index = shards->use_index(number);
    for (std::uint64_t i = 0; i < index->size(); ++i) {
      if (index->label(i) >= 0) return true;
    }
  }
  return false;
}

void Dataset::State::name_classes() {
  const auto named = std::find_if(parts.begin(), parts.end(), [](const Part& part) { return !part.classes.empty(); });
  if (named == parts.end() || (parts.size() > 1 && !options.merges_classes)) return;
  std::vector<NamedClasses> datasets;
  for (std::size_t number = 0; number < parts.size(); ++number) {
    const Part& part = parts[number];
    if (part.classes.empty() && has_labels(number)) {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("its labels have no class names, those of {} have: which numbers mean the same is not known",
                      printable(named->path)),
          {.path = part.path,
           .hint = "read the two apart, or pack this one again from folders that are named by class"});
    }
    if (!part.classes.empty()) datasets.push_back({part.path, part.classes});
  }
  MergedClasses merged = merge_classes(datasets);
  classes = std::move(merged.classes);
  auto map = merged.maps.begin();
  for (Part& part : parts) {
    if (!part.classes.empty()) part.labels = std::move(*map++);
    translates_labels = translates_labels || part.labels.changes_labels();
  }
  for (std::size_t label = 0; translates_labels && label < classes.size(); ++label) {
    label_texts.push_back(fmt::format_int(label).str());
  }
}

Bytes Dataset::State::translated(std::size_t shard, Bytes cls) const {
  const std::int64_t label = parse_label(cls);
  if (!labels_of(shard).changes_labels() || label < 0) return cls;
  return as_bytes(label_texts[static_cast<std::size_t>(labels_of(shard)(label))]);
}

}  // namespace bale
