#include "bale/reader/class_merge.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"

namespace bale {

std::int64_t LabelMap::operator()(std::int64_t label) const {
  if (labels_.empty() || label < 0) return label;
  const bool is_known = static_cast<std::uint64_t>(label) < labels_.size();
  if (is_known && labels_[static_cast<std::size_t>(label)] >= 0) return labels_[static_cast<std::size_t>(label)];
  throw Error(ErrorCode::damaged,
              fmt::format("label {} has no name: the dataset names {} classes", label, labels_.size()),
              {.path = path_, .hint = "read this dataset alone, or pack it again with a name for each class"});
}

MergedClasses merge_classes(const std::vector<NamedClasses>& datasets) {
  MergedClasses merged;
  const bool all_same = std::all_of(datasets.begin(), datasets.end(), [&](const NamedClasses& dataset) {
    return dataset.classes == datasets.front().classes;
  });
  if (all_same) {
    if (!datasets.empty()) merged.classes = datasets.front().classes;
    merged.maps.resize(datasets.size());
    return merged;
  }
  std::map<std::string, std::int64_t> numbers;
  for (const NamedClasses& dataset : datasets) {
    std::vector<std::int64_t> labels;
    for (const std::string& name : dataset.classes) {
      if (name.empty()) {  // a number that no class has
        labels.push_back(k_no_label);
        continue;
      }
      const auto [known, is_new] = numbers.emplace(name, static_cast<std::int64_t>(merged.classes.size()));
      if (is_new) merged.classes.push_back(name);
      if (std::find(labels.begin(), labels.end(), known->second) != labels.end()) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("two of its classes are called \"{}\", so it cannot be read as one with other classes",
                                printable(name)),
                    {.path = dataset.path, .hint = "read it alone, or pack it again with one name per class"});
      }
      labels.push_back(known->second);
    }
    merged.maps.emplace_back(dataset.path, std::move(labels));
  }
  return merged;
}

}  // namespace bale
