// Tells files and their samples apart: the shortest names by which several paths differ, and a sample's key as its own
// name.
//
// A key of a shard of another program may be repeated in other shards, encoded as a file name, or a path that leads
// outside the directory into which it is written. convert, extract, diff, merge and Dataset::find() all take the keys
// from here.
//
// find_repeated_key() takes 8 bytes of memory per sample.
//
// Threads: functions are pure; const methods may be called by many threads at once. Do not use a SampleKeys longer than
// its Dataset.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/shard/manifest.hpp"
#include "bale/reader/dataset.hpp"

namespace bale {

/// One name for each path, all different: the last components, as few for all as it takes, or the path itself if it is
/// named twice, with a number. A name has no ".." and no secret of a URL, and is never absolute.
std::vector<std::string> names_apart(const std::vector<std::string>& paths);

/// The paths of a dataset's shards.
std::vector<std::string> shard_paths(const Dataset& dataset);

class SampleKeys {
 public:
  /// Keys are told apart if shards without a manifest, or of several datasets, repeat one. Reads all indexes to see
  /// that.
  explicit SampleKeys(const Dataset& dataset);
  SampleKeys(const Dataset& dataset, bool are_told_apart);

  /// Whether keys have the name of their shard before them.
  bool are_told_apart() const { return !names_.empty(); }
  /// Whether some shards have keys that were encoded as file names.
  bool are_encoded() const;
  /// Whether the keys of all shards are the whole names of files.
  bool have_extensions() const;

  /// The sample's own name: the key that `shard` stores, decoded, told apart, and made relative if it leads outside.
  std::string name(std::size_t shard, std::string_view key) const;
  /// The path of a field's file below a directory (contained_name()). If `decodes`, with the dots that encode_key()
  /// encoded. If keys are whole names of files, a file of such a field has the name, and those of other fields have its
  /// stem, or also the whole name before their own if not `shortens`.
  std::string file_name(std::size_t shard, std::string_view key, std::string_view field, bool decodes,
                        bool shortens) const;

 private:
  std::string told_apart(std::size_t shard, std::string_view key) const;

  std::vector<std::string> names_;   // of shards; empty: keys are not repeated
  std::vector<std::string> fields_;  // of the dataset
  std::vector<KeyForm> forms_;       // of shards
};

struct RepeatedKey {
  std::string key;
  std::size_t first = 0;   // number of a shard that has it
  std::size_t second = 0;  // number of another, or the same
};

using KeyVisitor = std::function<void(std::string_view key)>;

/// `visit_keys(n, visit)` calls `visit` for each key of shard n of `num_shards`; it may be called twice for each. The
/// result is exact: equal hashes find candidates, and the keys themselves are compared.
std::optional<RepeatedKey> find_repeated_key(
    std::size_t num_shards, const std::function<void(std::size_t shard, const KeyVisitor& visit)>& visit_keys);

}  // namespace bale
