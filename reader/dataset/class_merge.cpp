#include "bale/reader/dataset/class_merge.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/names/known_names.hpp"
#include "bale/formats/base/text/human.hpp"

namespace bale {

std::int64_t LabelMap::operator()(std::int64_t label) const {
  if (labels_.empty() || label < 0) return label;
  const bool is_known = static_cast<std::uint64_t>(label) < labels_.size();
  if (is_known && labels_[static_cast<std::size_t>(label)] >= 0) return labels_[static_cast<std::size_t>(label)];
  throw Error(ErrorCode::damaged,
              fmt::format("label {} has no name: the dataset names {} classes", label, labels_.size()),
              {.path = path_, .hint = "read this dataset alone, or pack it again with a name for each class"});
}

ClassNumbers::ClassNumbers(std::vector<std::string> classes) : classes_(std::move(classes)) {
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    if (!classes_[i].empty()) numbers_.emplace(classes_[i], static_cast<std::int64_t>(i));
  }
}

std::vector<std::int64_t> ClassNumbers::add(const NamedClasses& dataset) {
  std::vector<std::int64_t> numbers;
  std::set<std::int64_t> given;
  for (const std::string& name : dataset.classes) {
    if (name.empty()) {  // a number that no class has
      numbers.push_back(k_no_label);
      continue;
    }
    const auto [known, is_new] = numbers_.emplace(name, static_cast<std::int64_t>(classes_.size()));
    if (is_new) classes_.push_back(name);
    if (!given.insert(known->second).second) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("two of its classes are called \"{}\", so it cannot be read as one with other classes",
                              printable(name)),
                  {.path = dataset.path, .hint = "read it alone, or pack it again with one name per class"});
    }
    numbers.push_back(known->second);
  }
  return numbers;
}

bool has_class_numbers(std::string_view field, bool has_labels) {
  if (field == "boxes.json" || field == "keypoints.json" || field == "segments.json" || field == "image_labels.json") {
    return true;
  }
  const std::string_view kind = field.substr(field.rfind('.') + 1);  // npos + 1 is 0
  return !has_labels && (kind == "json" || kind == k_array_field || field.ends_with(".png"));
}

MergedClasses merge_classes(const std::vector<NamedClasses>& datasets) {
  MergedClasses merged;
  for (const NamedClasses& dataset : datasets) {
    if (dataset.classes.size() > merged.classes.size()) merged.classes = dataset.classes;
  }
  const bool all_begin_it = std::all_of(datasets.begin(), datasets.end(), [&](const NamedClasses& dataset) {
    return std::equal(dataset.classes.begin(), dataset.classes.end(), merged.classes.begin());
  });
  if (all_begin_it) {  // numbers stay, also those after one that no class has
    for (const NamedClasses& dataset : datasets) {
      std::vector<std::int64_t> own;
      for (std::size_t i = 0; i < dataset.classes.size() && dataset.classes.size() < merged.classes.size(); ++i)
        own.push_back(dataset.classes[i].empty() ? k_no_label : static_cast<std::int64_t>(i));
      merged.maps.emplace_back(dataset.path, std::move(own));
    }
    return merged;
  }
  ClassNumbers numbers;
  for (const NamedClasses& dataset : datasets) merged.maps.emplace_back(dataset.path, numbers.add(dataset));
  merged.classes = numbers.classes();
  return merged;
}

ImageEditNames merge_edits(const std::vector<ImageEditNames>& datasets) {
  std::map<std::string, std::set<std::string>> found;
  std::set<std::string> of_some;
  for (const ImageEditNames& edits : datasets) {
    for (const auto& [name, value] : edits) {
      if (!value.ends_with(k_some_images)) {
        found[name].insert(value);
        continue;
      }
      found[name].insert(value.substr(0, value.size() - k_some_images.size()));
      of_some.insert(name);
    }
  }
  ImageEditNames merged;
  for (const auto& [name, values] : found) {
    const auto has_it = [&edit = name](const ImageEditNames& edits) { return edits.contains(edit); };
    const bool all =
        values.size() == 1 && !of_some.contains(name) && std::all_of(datasets.begin(), datasets.end(), has_it);
    merged[name] = fmt::format("{}{}", joined(values, " or "), all ? "" : k_some_images);
  }
  return merged;
}

}  // namespace bale
