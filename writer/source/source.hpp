// Source: where samples to pack come from (a folder, a list, a table, a packed dataset).
//
// A Source knows its samples before it reads any: their number, keys, labels and sizes, so that packing
// can be planned as a pure function of the source and the options. Samples are numbered 0..size()-1 in
// the source's own order (ImageFolder's for folders).
//
// Threads: const methods may be called by many threads at once, each with its own SourceScratch.
// Memory: about 100 bytes a sample at the most, payloads never kept.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/core/notice_log.hpp"
#include "bale/formats/core/sample.hpp"

namespace bale {

/// What is known of a sample without reading it.
struct SourceSample {
  std::string key;  // unique in the source, fit to be split back (encode_key)
  std::int64_t label = k_no_label;
  struct Field {
    std::uint32_t id;     // position in Source::fields()
    std::uint64_t bytes;  // expected size
  };
  std::vector<Field> fields;  // sorted by id
  std::uint64_t total_bytes() const {
    std::uint64_t sum = 0;
    for (const Field& field : fields) sum += field.bytes;
    return sum;
  }
};

/// A file that a sample is made of.
struct SourceFile {
  std::string path;        // what is opened
  std::string below_root;  // its path below the source's root, without ".."
};

/// Something that could not be had while listing, so that samples are missing: it belongs in the ledger.
struct SourceLoss {
  std::string path;
  std::string why;
  std::optional<std::uint64_t> num_samples{};  // nullopt: nobody knows how many
};

class Source {
 public:
  virtual ~Source() = default;

  virtual std::uint64_t size() const = 0;
  /// Every field name that occurs, image field first.
  virtual const std::vector<std::string>& fields() const = 0;
  /// Class name of label 0, 1, ...; empty where labels have no names.
  virtual const std::vector<std::string>& classes() const = 0;
  /// What was done to the images before, by name (Manifest::edits).
  virtual std::map<std::string, std::string> edits() const { return {}; }
  /// Directories and files that it reads from, as far as a destination must stay away from them.
  virtual std::vector<std::string> places() const { return {}; }
  /// Whether keys were encoded because the destination cannot hold them (Manifest::encoded_keys).
  virtual bool encodes_keys() const { return false; }
  virtual std::int64_t label(std::uint64_t i) const = 0;
  /// `out` is overwritten (reuse it).
  virtual void describe(std::uint64_t i, SourceSample& out) const = 0;

  /// Reads sample `i`; the view borrows from `scratch` and from this Source. Throws `bale::Error` for a
  /// sample that cannot be had (unreadable, gone, changed while read): a bad sample, governed by the policy.
  virtual SampleView read(std::uint64_t i, Scratch& scratch) const = 0;
  /// Name a person knows the sample by: a path, or key and shard.
  virtual std::string origin(std::uint64_t i) const = 0;
  /// Files that hold sample `i` and nothing else; none for a sample of a shard.
  virtual std::vector<SourceFile> files(std::uint64_t) const { return {}; }
  /// Asks for the sample to be read ahead; returns at once, never fails.
  virtual void will_need(std::uint64_t i) const = 0;

  /// A line that identifies the sample's content without reading it (key, sizes, mtime, label): hashed
  /// into the plan so that a resumed run knows whether it continues the same work.
  virtual void fingerprint(std::uint64_t i, std::string& out) const = 0;

  /// What was passed over while listing: other files, links that lead nowhere, members of archives that are no fields.
  virtual const NoticeLog& notices() const = 0;

  /// With SourceOptions::skip_damaged: what could not be listed or opened.
  virtual std::vector<SourceLoss> losses() const { return {}; }
};

struct SourceOptions {
  std::string kind{};                  // one of source_kinds(); empty: what it looks like
  std::vector<std::string> include{};  // globs on the path below the root; empty: everything
  std::vector<std::string> exclude{};
  std::string class_map{};                // file: "name index" lines, "name" lines, or a JSON object / array
  std::vector<std::string> pair{};        // extensions of the files that make one sample, the image first
  std::vector<std::string> pair_paths{};  // EXT=PATTERN: where those lie that are not beside the image (PairPath)
  bool allow_empty_classes = false;       // torchvision's allow_empty
  std::string path_column{};              // CSV/TSV/JSONL; empty: path, file_name, filename, file, image
  std::string label_column{};             // empty: label, class, target, y
  std::string root{};                     // directory that relative paths of lists and tables start from
  bool nul_separated = false;             // --files-from with -0
  bool keys_name_files = true;            // of the layout to be packed into (Layout::keys_name_files)
  bool flat = false;                      // a folder without class folders: no labels
  bool skip_damaged = false;              // directories and shards that cannot be read are left out: Source::losses()
};

/// ImageFolder: classes are the sorted first-level directories, samples the image files below them, in
/// torchvision's order. Throws `not_found` for a missing folder, `invalid_argument` for one without images.
std::unique_ptr<Source> open_folder_source(const std::string& path, const SourceOptions& options);
/// One path a line from a file or "-" (standard input); labels from the parent directory's name as in a folder.
std::unique_ptr<Source> open_list_source(const std::string& path, const SourceOptions& options);
/// .csv, .tsv or .jsonl with a header (JSONL: an object a line); extra columns become the `json` field.
std::unique_ptr<Source> open_table_source(const std::string& path, const SourceOptions& options);
/// Any packed dataset, ours or foreign, through bale::Dataset.
std::unique_ptr<Source> open_packed_source(const std::string& spec, const SourceOptions& options);
/// "folder", "list", "table", "packed", and the name of each format whose shards can be asked for.
std::vector<std::string> source_kinds();

/// What a source is taken for.
struct DetectedSource {
  std::string kind;    // one of source_kinds()
  std::string told{};  // what speaks for it, if something speaks against it: for the user to read
};
/// A directory with manifest.json or a shard spec is packed, a table known by its suffix, any other directory a folder
/// unless more of its files are named as shards than as images. Throws `not_found`.
DetectedSource detect_source(const std::string& spec, const SourceOptions& options);

/// Opens what `spec` is by SourceOptions::kind or detect_source().
std::unique_ptr<Source> open_source(const std::string& spec, const SourceOptions& options);

}  // namespace bale
