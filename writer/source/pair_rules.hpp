// PairRules: which files make one sample (--pair, --pair-path).
//
// Immutable once made; safe in any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bale/writer/source/file_rows.hpp"
#include "bale/writer/source/pair_path.hpp"

namespace bale {

struct SourceOptions;

class PairRules {
 public:
  /// Throws `invalid_argument` for fewer than two extensions, more than 16, one named twice, and for a path of a file
  /// that is none of them.
  explicit PairRules(const SourceOptions& options);

  /// No pairs: each sample is one file.
  bool empty() const { return fields_.empty(); }
  std::size_t size() const { return fields_.size(); }
  /// Field names, the image's first.
  const std::vector<std::string>& fields() const { return fields_; }
  /// The extension as it was written, of file `index` of a sample.
  const std::string& extension(std::size_t index) const { return extensions_[index]; }
  /// Where file `index` lies; null: beside the image.
  const PairPath* path(std::size_t index) const { return paths_[index] ? &*paths_[index] : nullptr; }

  struct Part {
    std::string_view stem;
    int index = -1;  // -1: no part of a sample, or one that is looked for elsewhere
  };
  /// What a file is by its name, by the longest extension that fits.
  Part part_of(std::string_view name) const;

 private:
  std::vector<std::string> fields_;
  std::vector<std::string> extensions_;
  std::vector<std::optional<PairPath>> paths_;
};

/// Adds the files of a sample that lie elsewhere than beside its image; remembers their directories.
class DistantFiles {
 public:
  explicit DistantFiles(std::string root) : root_(std::move(root)) {}
  /// As companion of the sample added last, `image`, whether it is there or not: reading it will tell.
  void add(FileRows& rows, const FileRow& image, const PairPath& path);
  /// Their directories, as Source::places() has it.
  std::vector<std::string> places(const FileRows& rows) const;

 private:
  std::string root_;
  std::unordered_map<std::string, std::uint32_t> ids_;
};

}  // namespace bale
