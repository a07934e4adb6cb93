// --class-map: the label of each class folder, or of each class name in a list or table.
//
// Immutable once loaded; safe in any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace bale {

class ClassMap {
 public:
  /// Reads "name index", "name,index" (or ; or |) or "index name" lines; lines with one name each (label = line number
  /// from 0), which may be an id with a description ("n01440764 tench, Tinca tinca", "/m/011k07,Tortoise"); a JSON
  /// array of names; an object {name: index}, {"index": name} or {"index": [name, ...]}; YOLO's data.yaml; or a packed
  /// dataset or its manifest. Lines may follow a header "x,y". Throws `invalid_argument` with file and line.
  static ClassMap load(const std::string& path);

  std::optional<std::int64_t> find(std::string_view name) const;
  /// Throws `invalid_argument` for a name that is not in the map. `where` is the path in the error.
  std::int64_t label(std::string_view name, const std::string& where) const;
  /// Whether a class has this label.
  bool has(std::int64_t label) const;
  const std::unordered_map<std::string, std::int64_t>& labels() const { return labels_; }
  /// For errors: the file and its first class, by which a reading that is wrong is seen.
  std::string shown() const;
  /// Class names of labels 0, 1, ...; "" for a label without a name.
  const std::vector<std::string>& classes() const { return classes_; }

 private:
  explicit ClassMap(std::string path) : path_(std::move(path)) {}
  void add(std::string name, std::int64_t label, std::size_t line);
  void parse_lines(std::string_view text);

  std::string path_;
  std::string first_;
  std::unordered_map<std::string, std::int64_t> labels_;
  std::vector<std::string> classes_;
};

}  // namespace bale
