// PairRules: which files make one sample (--pair, --pair-path).
//
// Immutable once made; safe in any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bale/writer/source/rows/file_rows.hpp"

namespace bale {

// PairPath: the place of a companion file that does not lie next to its image, as a pattern over the image's path, such
// as ../SegmentationClass/{stem}.png.
//
// A plain value; immutable once made.

class PairPath {
 public:
  struct Place {
    std::string directory;  // absolute, or relative to the source's root; may begin with ".."
    std::string name;
  };

  /// `text` is FIELD=PATTERN. A pattern may have {dir} (directory of the image below the source's root), {stem} (its
  /// name without the extension) and {key} ({dir}/{stem}). In each, %SUFFIX removes SUFFIX from the end as in a shell,
  /// such as {stem%SUFFIX}. Throws `invalid_argument`.
  explicit PairPath(std::string_view text);

  const std::string& field() const { return field_; }
  Place place(std::string_view image_directory, std::string_view stem) const;

 private:
  enum class What { text, dir, stem, key };
  struct Part {
    What what = What::text;
    std::string text;  // the text, or the suffix to remove
  };
  void parse(std::string_view pattern);
  void add_placeholder(std::string_view inside);

  std::string field_;
  std::vector<Part> parts_;
};

/// `directory` without its leading ".." components.
std::string_view without_leading_parents(std::string_view directory);

struct SourceOptions;

class PairRules {
 public:
  /// Throws `invalid_argument` for fewer than two extensions, more than 16, a duplicate, and for a path of a file that
  /// is not one of them.
  explicit PairRules(const SourceOptions& options);

  /// No pairs: each sample is one file.
  bool empty() const { return fields_.empty(); }
  std::size_t size() const { return fields_.size(); }
  /// Field names, the image's first.
  const std::vector<std::string>& fields() const { return fields_; }
  /// The extension of file `index` of a sample, as it was given.
  const std::string& extension(std::size_t index) const { return extensions_[index]; }
  /// The place of file `index`; null: next to the image.
  const PairPath* path(std::size_t index) const { return paths_[index] ? &*paths_[index] : nullptr; }

  struct Part {
    std::string_view stem;
    int index = -1;  // -1: not part of a sample, or its place comes from a PairPath
  };
  /// The part that a file is by its name. The longest matching extension decides.
  Part part_of(std::string_view name) const;
  /// Whether the file ends in one of the extensions, also in one of files elsewhere.
  bool has_extension_of(std::string_view name) const;

 private:
  std::vector<std::string> fields_;
  std::vector<std::string> extensions_;
  std::vector<std::optional<PairPath>> paths_;
};

/// Adds the files of a sample that do not lie next to its image, and remembers their directories.
class DistantFiles {
 public:
  explicit DistantFiles(std::string root) : root_(std::move(root)) {}
  /// Adds a companion of `image`, the sample added last. The file may be missing: reading it will report that.
  void add(FileRows& rows, const FileRow& image, const PairPath& path);
  /// The directories of these files, for Source::places().
  std::vector<std::string> places(const FileRows& rows) const;

 private:
  std::string root_;
  std::unordered_map<std::string, std::uint32_t> ids_;
};

}  // namespace bale
