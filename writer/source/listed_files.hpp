// Collects files that are named one by one (lists, tables) in a FileListing.
//
// For one thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bale/writer/source/file_source.hpp"
#include "bale/writer/source/name_filter.hpp"
#include "bale/writer/source/pair_rules.hpp"

namespace bale {

class ListedFiles {
 public:
  /// Relative paths start from `root` ("": the current directory).
  ListedFiles(const SourceOptions& options, std::string root);

  /// Adds the file as a sample. Returns its row, or null if the file was ignored (excluded, not an image by its name, a
  /// companion of another). The key is the path below the root. Throws `invalid_argument` (without a path) for an empty
  /// path or one with "..".
  FileRow* add(std::string_view path);

  /// Name of the directory that holds the row's file; "" if its path has none.
  std::string_view parent_name(const FileRow& row) const;

  FileListing& listing() { return listing_; }

 private:
  std::uint32_t directory_id(std::string_view text, bool absolute);
  void add_companions(const FileRow& row, std::string_view stem);

  std::string root_;
  NameFilter filter_;
  PairRules pair_;
  DistantFiles distant_;
  std::unordered_map<std::string, std::uint32_t> directories_;
  FileListing listing_;
};

}  // namespace bale
