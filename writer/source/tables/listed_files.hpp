// Collects files that are named one by one (lists, tables) in a FileListing.
//
// For one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "bale/formats/base/error.hpp"
#include "bale/writer/source/folder/name_filter.hpp"
#include "bale/writer/source/rows/file_source.hpp"
#include "bale/writer/source/rows/pair_rules.hpp"

namespace bale {

struct PathAndLabel {
  std::string_view path;
  std::string_view label;
};
/// A line "PATH LABEL", as Caffe, DALI, DomainNet and Places365 have them: what is before and after its last white
/// space; nullopt if there is none.
std::optional<PathAndLabel> path_and_label(std::string_view line);

class ListedFiles {
 public:
  /// Relative paths start from `root` ("": the current directory).
  ListedFiles(const SourceOptions& options, std::string root);

  /// Adds the file as a sample. Returns its row, or null if the file is excluded or a companion of another. What is no
  /// image by its name is looked into. A path that no file has may lack the extension of an image, and one that begins
  /// with a slash may be below the root. White space around the path is dropped if no file has it. The key is the path
  /// below the root. Throws (without a path) `invalid_argument` for an empty path or one with "..", and `not_found`,
  /// `damaged` or `io` for a file that is not an image by its name and by its content.
  FileRow* add(std::string_view path) { return add(place_of(path)); }

  struct Place {
    std::string path;
    bool is_absolute = false;  // else below the root
  };
  /// Where the file is, as add() finds it. Throws as add().
  Place place_of(std::string_view path);
  /// The same for each way to write the file's path.
  std::string full_path(const Place& place) const;
  FileRow* add(const Place& place);

  /// Whether add() would find a file. Throws as add().
  bool is_there(std::string_view path) { return exists(place_of(path)); }
  /// Deals with an error of add() for a line of `list`: a loss if such are skipped, else an error that names the line.
  void lose(const Error& error, const std::string& list, std::uint64_t line);

  /// Name of the directory that holds the row's file; "" if its path has none.
  std::string_view parent_name(const FileRow& row) const;

  FileListing& listing() { return listing_; }
  /// Throws `invalid_argument` if there is no sample: `why`, unless patterns have left them out.
  void require_samples(const std::string& place, std::string_view why, std::string hint) const;
  /// The listing, with the patterns that matched nothing in `place`. Call it last.
  FileListing finish(const std::string& place);

 private:
  using ImagesByStem = std::unordered_map<std::string, std::string>;  // names of files; "" if several have the stem

  bool exists(const Place& place) const;
  void add_extension(Place& place);
  const ImagesByStem& images_in(const std::string& directory);
  std::string_view trimmed(std::string_view path) const;
  std::string field_by_content(const std::string& file, std::string_view shown) const;
  std::uint32_t directory_id(std::string_view text, bool absolute);
  void add_companions(const FileRow& row, std::string_view stem);

  std::string root_;
  NameFilter filter_;
  PairRules pair_;
  DistantFiles distant_;
  std::unordered_map<std::string, std::uint32_t> directories_;
  std::unordered_map<std::string, ImagesByStem> images_;  // of the directories of paths without an extension
  FileListing listing_;
  bool skip_damaged_;
};

/// Whether a file lists images by class, as Food-101's meta/train.json, {"class": ["class/id", ...], ...}: it is named
/// as JSON and begins so. open_list_source() takes it. Throws `io`.
bool is_class_lists(const std::string& path);

}  // namespace bale
