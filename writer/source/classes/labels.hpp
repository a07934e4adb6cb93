// Labels: what a source says of its classes (folders, cells of a table, tags, names and numbers of other datasets) as
// class numbers and names. Every kind of source asks it, so that a class map means the same everywhere.
//
// Names become the numbers of the class map, or else their positions in Python's order. Numbers stay numbers: of a
// source that names its classes a class map renumbers them by these names, of any other it names them.
//
// Threads: const methods may be called by many threads at once.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bale/writer/source/classes/class_map.hpp"
#include "bale/writer/source/source.hpp"

namespace bale {

class Dataset;

/// How columns of labels are called, the first name first.
inline constexpr std::array<std::string_view, 4> k_label_columns{"label", "class", "target", "y"};

/// A word or number that samples have as their label, and where it is there first.
struct LabelWord {
  std::string text;
  std::uint64_t line = 0;  // 0: not in a text file
  std::string key{};       // of the sample; may be empty
};

class Labels {
 public:
  /// Reads the class map, if there is one and labels are wanted. Throws what ClassMap::load() throws.
  explicit Labels(const SourceOptions& options);

  bool has_map() const { return map_.has_value(); }
  /// Names of class 0, 1, ...; empty if the classes have no names.
  const std::vector<std::string>& classes() const { return classes_; }
  LabelReading reading() const { return reading_; }

  /// The classes are called so. Names may be there several times.
  void take_names(std::vector<std::string> names);
  /// The number of a name that take_names() took. Throws `invalid_argument` with the path `where` for one that is not
  /// in the class map, and `changed` for one that was not taken.
  std::int64_t number_of(std::string_view name, const std::string& where) const;

  /// The classes are called so, or it is not known which there are: cells of a table, numbers without names. Returns
  /// the number of each word. All words are names if the class map has them all. Else they are numbers if all are; if
  /// none is and there is no class map, they are names. Throws `invalid_argument` with the path `where` for anything
  /// else: numbers and other words, fractions, and what is not in the class map.
  std::vector<std::int64_t> take_words(std::span<const LabelWord> words, const std::string& where);

  /// The classes have the numbers of `used`, and those of `names` are called so (or none, if it is empty). Returns the
  /// number that each gets; empty without a class map: all stay the same. Throws with the path `where` what
  /// take_words() and renumbered() throw.
  std::map<std::int64_t, std::int64_t> take_numbers(std::vector<std::string> names,
                                                    const std::map<std::int64_t, LabelWord>& used,
                                                    const std::string& where);

  /// The number of class `number` of a source whose classes are called `names`: that of the class map, by the name, or
  /// the same. Throws what require_class() and number_of() throw, without a path.
  std::int64_t renumbered(std::int64_t number, const std::vector<std::string>& names) const;

  /// Mentions if the class map makes one class of several that the source has, which may be a mistake in it. `place` is
  /// the source's path.
  void mention_joined(const std::string& place, NoticeLog& notices) const;

  /// Whether a cell stands for no label: it is empty, or one of the words that pandas takes for a missing value and the
  /// class map does not have.
  bool is_missing(std::string_view cell) const;

 private:
  std::optional<ClassMap> map_;
  std::vector<std::string> classes_;
  std::vector<std::string> names_;  // those of the source, if there is a class map
  LabelReading reading_ = LabelReading::none;
};

/// Throws `damaged` without a path if there are names of classes and none for `number`.
void require_class(std::int64_t number, const std::vector<std::string>& classes);

/// The labels of a packed dataset whose label field has texts, such as "dog" in WebDataset's `cls`.
struct LabelTexts {
  std::vector<LabelWord> words;                          // each text once
  std::vector<std::optional<std::uint32_t>> of_samples;  // positions in `words`
};

/// Reads the label field of `size` samples: at(i) is the number of sample `i` in the dataset. White space alone is
/// ignored, and with `skip_damaged` what cannot be read. Throws what Dataset::read_field() throws.
LabelTexts label_texts_of(const Dataset& dataset, std::uint64_t size,
                          const std::function<std::uint64_t(std::uint64_t)>& at, bool skip_damaged);

}  // namespace bale
