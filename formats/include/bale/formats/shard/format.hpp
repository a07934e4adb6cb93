// Format: what a container implements to be packed, read, scanned and verified.
//
// A format is one folder under formats/ and one line in formats/CMakeLists.txt. No other code contains its name. Keys,
// labels, checksums, compression and lookup are done once, by `Shard`, on top of an index and a `Payload`. So a format
// implements three functions:
//   scan    which samples are in this file, and at which offsets (reads headers only)
//   open    random access to the stored bytes of a field
//   create  write samples in a given order and report their offsets
// A format that bale only reads implements the first two. It has no layouts and `create` is null.
//
// Ownership: Format, Layout, Sidecar and ShardList objects are constants that live as long as the process.
// Threads: the functions of a Format may be called by many threads at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/file_range.hpp"
#include "bale/formats/shard/field_rule.hpp"
#include "bale/formats/shard/index_builder.hpp"
#include "bale/formats/shard/sample.hpp"
#include "bale/formats/shard/shard_index.hpp"

namespace bale {

class File;

/// A small file next to a shard for readers other than bale.
struct Sidecar {
  std::string_view suffix;  // replaces the layout's suffix: "train-000003.rec" has "train-000003.idx"
  /// Its content, a function of the finished shard alone. Throws `damaged` if the shard is damaged.
  std::string (*text)(const std::string& shard_path, const ShardIndex& index);
  std::string_view name{};  // name in PackOptions::sidecars; may be empty if `always`
  bool always = true;       // false: written only if requested
};

/// One shard of a dataset, as ShardList::text() gets it.
struct ListedShard {
  std::string file;  // relative to the dataset's directory
  std::uint64_t num_samples = 0;
  std::uint64_t bytes = 0;  // of the shard file
};

/// A file that lists all shards of a dataset for readers other than bale. Written only if requested.
struct ShardList {
  std::string_view name;  // name in PackOptions::sidecars
  std::string_view file;  // file name in the dataset's directory
  /// Its content. `dataset` is the dataset's name.
  std::string (*text)(const std::string& dataset, std::span<const ListedShard> shards);
};

/// One way in which a format stores samples.
struct Layout {
  std::string_view name;           // "plain", "zst", "blob", ...
  std::string_view suffix;         // of shard files, with the dot: ".tar.zst"; may be empty if `counted`
  bool counted = false;            // shards are named NAME-00003-of-00012SUFFIX instead of NAME-000003SUFFIX
  bool keeps_bytes = true;         // false: images are stored as pixels, not as the bytes that were packed
  bool keeps_keys_in_file = true;  // false: keys are stored in the index only
  bool keys_name_files = false;    // keys become file names that readers split at the first dot: see encode_key()
  bool keeps_all_fields = true;    // false: an image and a label only
  bool compresses_fields = false;  // can store zstd-compressed fields ("json.zst")
  std::string_view summary{};      // one line for --help
  std::span<const Sidecar> sidecars{};
  std::span<const ShardList> lists{};
};

/// The name, first bytes and size of a file, for Format::probe().
struct ProbeInput {
  std::string_view path;
  Bytes head;  // the first 4 KiB, or the whole file if it is shorter
  std::uint64_t file_bytes = 0;
  const File* file = nullptr;  // set if no format recognizes the head: a probe may then read more
};

/// Random access to the stored bytes of one shard.
/// Threads: const methods may be called by many threads at once. Processes: do not use one after fork(); open it in the
/// process that uses it.
class Payload {
 public:
  virtual ~Payload() = default;

  /// Fills `out` (out.size() == extent.length) with the stored bytes of field `field` of sample `sample`.
  /// Throws `damaged` if the container does not have them, and `io`.
  virtual void read(std::uint64_t sample, std::uint32_t field, const Extent& extent, MutableBytes out) const = 0;

  /// The range of the shard file that holds those bytes (the whole compressed frames if the file is compressed);
  /// nullopt if only the container's library knows.
  virtual std::optional<FileRange> locate(std::uint64_t sample, std::uint32_t field, const Extent& extent) const = 0;

  /// A hint: asks the kernel to read the range ahead. Never fails.
  virtual void will_need(const FileRange& range) const = 0;

  /// Whether the stored bytes of each located field are the bytes [offset, offset + length) of the shard file.
  virtual bool is_plain() const { return false; }
};

/// What a writer knows of a shard before its first sample. Upper bounds, exact unless samples are skipped.
struct ShardPlan {
  struct Field {
    std::string name;  // stored name: "jpg", "json.zst"
    std::uint64_t num_samples = 0;
    std::uint64_t bytes = 0;  // before compression
  };
  std::uint64_t num_samples = 0;
  std::vector<Field> fields{};
  std::uint64_t key_bytes = 0;  // length of all keys together
};

struct WriterOptions {
  std::string path;         // file to create, under a temporary name
  std::string_view layout;  // Layout::name
  ShardPlan plan{};
  std::map<std::string, std::string> format_options{};  // options of the format, e.g. {"size", "128"}
  std::vector<std::string> class_names{};               // of label 0, 1, ...; may be empty
};

/// Writes one shard. Used by one thread at a time. Destroyed without finish(), it leaves an unfinished file that the
/// caller removes.
class ShardWriter {
 public:
  virtual ~ShardWriter() = default;

  /// Appends a sample. Field names are stored names ("json.zst"). The views are not kept. Throws `invalid_argument` for
  /// a sample that the container cannot hold, after which more samples may be added, and `io` if writing fails.
  virtual void add(const SampleView& sample) = 0;

  /// Completes the file. For each field of the n-th added sample, calls set_extent(n, f, ...) on `index`, where f is
  /// the id of the field's stored name (IndexBuilder::stored_field_id()). Calls set_located(f, false) for fields whose
  /// offsets are not byte positions. Does not make the file durable: the caller does.
  virtual void finish(IndexBuilder& index) = 0;
};

struct Format {
  std::string_view name;
  std::span<const Layout> layouts;  // the first is the default; empty if bale only reads the format
  /// How likely it is that the file is of this format, from 0 (it is not) to 100 (it has the signature). Cheap. Never
  /// throws.
  int (*probe)(const ProbeInput& input);
  /// Finds every sample of a container that has no index, reading headers only. The input may be hostile. Declares
  /// fields, adds samples, sets extents and labels. Adds what is not delivered to index.notices(). Throws `damaged` or
  /// `unsupported`.
  void (*scan)(const std::string& path, IndexBuilder& index);
  /// Opens a shard for reading. `index` must outlive the payload.
  std::unique_ptr<Payload> (*open)(const std::string& path, const ShardIndex& index);
  /// Creates a shard. Throws `invalid_argument` for bad options, and `io`. Null if bale only reads the format.
  std::unique_ptr<ShardWriter> (*create)(const WriterOptions& options);
  /// Whether `scan` is safe on damaged bytes: our own bounds-checked parser, not a library that may crash.
  bool scan_survives_damage = false;
  /// Reads the whole shard and compares the checksums in the container itself. Null if the container has none. Throws
  /// `damaged`, naming the offset.
  void (*check)(const std::string& path) = nullptr;
  /// Of a format that bale only reads: how the names of its files end, with the dot, and one line for `bale formats`.
  std::span<const std::string_view> read_suffixes{};
  std::string_view read_summary{};
  /// The shards that the format's own list in a directory names, in its order, as names below the directory. nullopt if
  /// there is no such list. Null if the format has none. Throws `damaged`, `unsupported`, and `not_found` for a shard
  /// that is not there.
  std::optional<std::vector<std::string>> (*list)(const std::string& directory) = nullptr;
  /// Names of class 0, 1, ... that the list in a directory has; empty if it has none. Null if such lists have none.
  std::vector<std::string> (*classes)(const std::string& directory) = nullptr;
  /// Which names of fields its shards can hold.
  FieldRule field_rule{};
};

/// Whether a scan finds the keys, in every layout: else they are in the index only.
inline bool keeps_keys_in_file(const Format& format) {
  return std::all_of(format.layouts.begin(), format.layouts.end(),
                     [](const Layout& layout) { return layout.keeps_keys_in_file; });
}

struct FormatAndLayout {
  const Format* format;
  const Layout* layout;
};

}  // namespace bale
