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
  /// Reads "name index" or "name,index" lines; lines with one name each (label = line number from 0), which may start
  /// with a WordNet id ("n01440764 tench, Tinca tinca"); a JSON array of names; or an object {name: index}, {"index":
  /// name} or {"index": [name, ...]}. Throws `invalid_argument` with file and line.
  static ClassMap load(const std::string& path);

  std::optional<std::int64_t> find(std::string_view name) const;
  /// Throws `invalid_argument` for a name that is not in the map. `where` is the path in the error.
  std::int64_t label(std::string_view name, const std::string& where) const;
  /// Class names of labels 0, 1, ...; "" for a label without a name.
  const std::vector<std::string>& classes() const { return classes_; }

 private:
  explicit ClassMap(std::string path) : path_(std::move(path)) {}
  void add(std::string name, std::int64_t label, std::size_t line);
  void parse_lines(std::string_view text);

  std::string path_;
  std::unordered_map<std::string, std::int64_t> labels_;
  std::vector<std::string> classes_;
};

}  // namespace bale
