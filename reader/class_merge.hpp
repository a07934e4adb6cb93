// One numbering for the classes of several datasets that are read as one.
//
// Class numbers mean nothing without their names: label 0 may be "ant" in one dataset and "bee" in another. So classes
// are merged by name, in order of first appearance, and labels are translated when they are read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/formats/core/sample.hpp"

namespace bale {

/// The class names of one dataset among several.
struct NamedClasses {
  std::string path;                  // of the dataset, for messages
  std::vector<std::string> classes;  // name of label 0, 1, ...
};

/// From the labels of one dataset to those of the whole.
class LabelMap {
 public:
  LabelMap() = default;
  LabelMap(std::string path, std::vector<std::int64_t> labels) : path_(std::move(path)), labels_(std::move(labels)) {}

  bool changes_labels() const { return !labels_.empty(); }
  /// Labels below 0 stand for no class and stay. Throws `damaged` for a label that has no name.
  std::int64_t operator()(std::int64_t label) const;

 private:
  std::string path_;
  std::vector<std::int64_t> labels_;  // empty: every label stays what it is
};

struct MergedClasses {
  std::vector<std::string> classes;
  std::vector<LabelMap> maps;  // one per dataset
};

/// All names, each once. Datasets of the same names keep their labels. Throws `invalid_argument` if two classes of one
/// dataset have the same name, and another dataset has other classes.
MergedClasses merge_classes(const std::vector<NamedClasses>& datasets);

}  // namespace bale
