// The paths of the files that `bale extract` writes: each once, below the directory, and as the packed files were
// called.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/reader/dataset.hpp"
#include "bale/reader/names_apart.hpp"
#include "bale/tools/commands/reading/safe_directory.hpp"

namespace bale::tools {

class ExtractedNames {
 public:
  using FieldChoice = std::function<bool(std::string_view field)>;

  /// Of the fields that `takes` chooses of the samples `wanted`. Throws `exists` if two files would have one path, also
  /// if they differ by case and the file system of `directory` ignores it.
  ExtractedNames(const Dataset& dataset, const SampleKeys& keys, const std::vector<std::uint64_t>& wanted,
                 const FieldChoice& takes, const SafeDirectory& directory);

  std::string path(std::uint64_t sample, std::string_view field) const;
  /// Samples whose keys are absolute or have "..", "." or empty parts, which are stripped, and the first of them.
  std::uint64_t num_stripped() const { return num_stripped_; }
  const std::string& first_stripped() const { return first_stripped_; }

 private:
  using Visitor = std::function<void(std::uint64_t sample, const std::string& path)>;
  void visit(const std::vector<std::uint64_t>& wanted, const FieldChoice& takes, const Visitor& visitor) const;
  bool decodes(std::size_t shard) const;
  std::string repeated_path(const std::vector<std::uint64_t>& wanted, const FieldChoice& takes) const;

  const Dataset& dataset_;
  const SampleKeys& keys_;
  bool decodes_ = true;
  bool shortens_ = true;                                 // names of other fields begin with the image's stem
  mutable std::vector<std::optional<bool>> is_decoded_;  // shards
  std::uint64_t num_stripped_ = 0;
  std::string first_stripped_;
};

}  // namespace bale::tools
