// Merging the classes of several datasets that are read as one.
//
// Label 0 may be "ant" in one dataset and "bee" in another. So classes are merged by name, in order of first
// appearance (if one list begins with all others, it is taken), and labels are translated when they are read.
//
// Threads: const methods may be called by many threads at once; merge_classes() from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/shard/sample.hpp"

namespace bale {

/// The class names of one dataset among several.
struct NamedClasses {
  std::string path;                  // of the dataset, for messages
  std::vector<std::string> classes;  // name of label 0, 1, ...
};

/// Class names with their numbers. The classes of further datasets get the numbers of those of the same name, and new
/// ones the next numbers.
class ClassNumbers {
 public:
  ClassNumbers() = default;
  /// These classes keep their numbers. Of two with one name, further datasets get the number of the first.
  explicit ClassNumbers(std::vector<std::string> classes);

  const std::vector<std::string>& classes() const { return classes_; }
  /// The number of each class of the dataset; k_no_label for an empty name, which is a number that no class has. Throws
  /// `invalid_argument` if two of its classes have the same name.
  std::vector<std::int64_t> add(const NamedClasses& dataset);

 private:
  std::vector<std::string> classes_;
  std::map<std::string, std::int64_t> numbers_;
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

/// Whether a field may have numbers of classes inside, which nothing renumbers. Classes of a dataset without labels can
/// only be those of what is inside of its fields, such as `objects.json` of a table.
bool has_class_numbers(std::string_view field, bool has_labels);

struct MergedClasses {
  std::vector<std::string> classes;
  std::vector<LabelMap> maps;  // one per dataset, in their order
};

/// Merges the classes. If all datasets have the same classes, labels stay the same. Otherwise throws `invalid_argument`
/// if two classes of one dataset have the same name.
MergedClasses merge_classes(const std::vector<NamedClasses>& datasets);

// How the images of several datasets were changed, as one text per edit.

/// Manifest::edits
using ImageEditNames = std::map<std::string, std::string>;

/// Ends the value of an edit that not all images have.
inline constexpr std::string_view k_some_images = " (some images)";

/// What the datasets have in common stays. Other values are joined, and say that they hold for some images.
ImageEditNames merge_edits(const std::vector<ImageEditNames>& datasets);

}  // namespace bale
