// Merging the classes of several datasets that are read as one.
//
// Label 0 may be "ant" in one dataset and "bee" in another. So classes are merged by name, in order of first
// appearance, and labels are translated when they are read.
//
// Threads: const methods may be called by many threads at once; merge_classes() from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/formats/shard/sample.hpp"

namespace bale {

/// The class names of one dataset among several.
struct NamedClasses {
  std::string path;                  // of the dataset, for messages
  std::vector<std::string> classes;  // name of label 0, 1, ...
};

/// Translates the labels of one dataset to those of the merged one.
class LabelMap {
 public:
  LabelMap() = default;
  LabelMap(std::string path, std::vector<std::int64_t> labels) : path_(std::move(path)), labels_(std::move(labels)) {}

  /// False if every label stays the same.
  bool changes_labels() const { return !labels_.empty(); }
  /// Labels below 0 mean "no class" and stay the same. Throws `damaged` for a label without a name.
  std::int64_t operator()(std::int64_t label) const;

 private:
  std::string path_;
  std::vector<std::int64_t> labels_;  // empty: every label stays what it is
};

struct MergedClasses {
  std::vector<std::string> classes;
  std::vector<LabelMap> maps;  // one per dataset, in their order
};

/// Merges the classes. If all datasets have the same classes, labels stay the same. Otherwise throws `invalid_argument`
/// if two classes of one dataset have the same name.
MergedClasses merge_classes(const std::vector<NamedClasses>& datasets);

}  // namespace bale
