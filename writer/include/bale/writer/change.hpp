// Changes of a packed dataset that write no shard: remove() hides samples, set_labels() corrects labels, set_field()
// gives samples values of a field. What changes is a layer over the shards (formats/shard/LAYER.md) and the
// manifest, which is replaced last, by one rename, and kept as "versions/ID.json": readers see the old version
// (bale/reader/version.hpp) or the new one.
//
// Removed samples are in no reader of the new version from then on. Their bytes stay in the shards, for older versions
// and other programs, until these are written again. They are also on a list, by hashes of their keys and images: add()
// refuses them, and other copies of the dataset can remove the same (removals_text()).
//
// Memory: the keys that are given, and the index of one shard at a time. Threads: may be called by many threads at
// once, for different datasets. Another run at the same dataset is refused (`retryable`).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bale/formats/base/progress.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/writer/packer.hpp"

namespace bale {

struct ChangeOptions {
  std::string destination{};  // directory of the dataset
  std::string message{};      // what `bale log` says of the new version
  bool dry_run = false;       // change nothing
};

/// Which samples are removed: all that any of these names.
struct RemovalChoice {
  std::vector<std::string> keys{};
  /// A file, "-" for standard input, with one key per line as `bale ls` prints it, or lines of removals_text().
  std::string from{};
  std::string where{};  // a condition (bale/reader/where.hpp)
  bool again = false;   // a key that was removed before is not an error
};

/// Which samples get which label.
struct LabelChoice {
  /// CSV, TSV or JSONL with the columns `key` and `label`: names of classes, else numbers. Numbers of JSONL are no
  /// names.
  std::string table{};
  bool needs_all = false;  // throw `invalid_argument` if a sample is not in the table; else it keeps its label
};

/// Which samples get which value of a field.
struct FieldChoice {
  std::string field{};  // "clip.npy"
  /// A table (.csv, .tsv, .jsonl) with the column `key` and one called as the field, without its extension or `value`,
  /// or the only other one; an array (.npy) of one row per sample; or a folder of files KEY.FIELD or KEY.EXT.
  std::string from{};
  std::string keys{};      // of an array: a file with the key of each row on a line, as `bale ls` prints it
  bool needs_all = false;  // throw `invalid_argument` if a sample gets none; else it keeps what it has
};

struct ChangeReport {
  std::string directory;
  std::string verb;               // "remove", "set"; of an edit also "add", or all that was done
  std::string parent;             // id of the version before
  std::string version{};          // that the dataset is now; the same if there was nothing to change; empty: a dry run
  std::string field{};            // that was set
  std::uint64_t num_samples = 0;  // that were removed or added, or got another label or value
  std::uint64_t num_shards = 0;   // that they are in
  /// Of a table: samples that had the label or value; of a list of removals: that are not here; of samples that are
  /// added: that are here.
  std::uint64_t num_unchanged = 0;
  std::uint64_t num_unreadable = 0;  // removed samples whose image could not be read: only their keys are on the list
  std::uint64_t num_left = 0;        // samples of the new version
  std::uint64_t num_bytes = 0;       // written
  /// Of an edit that adds samples, what add() reports. Edit::add() plans them: nothing is written or left out yet.
  std::optional<PackReport> added{};
};

/// Removes samples and returns when everything is durable. Throws `not_found` for a key that the dataset does not have,
/// and if there is no dataset; `exists` if an unfinished run is there;
/// `retryable` if another run is at work or published another version; `invalid_argument` for a bad condition and if
/// nothing is named; `interrupted` soon after `progress.stop` is set. Then nothing is changed.
ChangeReport remove(const RemovalChoice& choice, const ChangeOptions& options, Progress& progress);

/// Corrects labels. Throws what remove() throws, and `invalid_argument` with the line of the table for a class that the
/// dataset does not have, and for two labels of one key.
ChangeReport set_labels(const LabelChoice& choice, const ChangeOptions& options, Progress& progress);

/// Gives samples values of a field, which the dataset may have or not. Rows of an array become NumPy files if the field
/// is NAME.npy, else numbers as text; cells of tables are the value as text, or JSON if it is NAME.json. Throws what
/// remove() throws, and `invalid_argument` with file and line for values that are none and for two of one key.
ChangeReport set_field(const FieldChoice& choice, const ChangeOptions& options, Progress& progress);

/// All samples that versions up to this one removed, one line each (formats/shard/LAYER.md), for RemovalChoice::from of
/// other copies. Empty if there are none. Throws what reading files throws, and `damaged`.
std::string removals_text(const std::string& directory, const Manifest& manifest);

}  // namespace bale
