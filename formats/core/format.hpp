// Format: what a container must offer to be packed, read, scanned and verified. One const object each.
//
// A format is one folder under formats/ and one line in formats/CMakeLists.txt; nothing outside names it.
// What formats share (keys, labels, checksums, compression, lookup) is not theirs: `Shard` does it
// on top of an index and a `Payload`. So a format answers three questions only:
//   scan    which samples are in this file, and where        (headers only, no payload is read)
//   open    give me the stored bytes of this field            (random access)
//   create  write these samples in this order                 (and say where they went)
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/core/bytes.hpp"
#include "bale/formats/core/file_range.hpp"
#include "bale/formats/core/index_builder.hpp"
#include "bale/formats/core/sample.hpp"
#include "bale/formats/core/shard_index.hpp"

namespace bale {

/// A small file beside a shard that readers other than ours look for.
struct Sidecar {
  std::string_view suffix;  // in place of the layout's suffix: "train-000003.rec" has "train-000003.idx"
  /// Its content, a function of the finished shard alone. Throws `damaged` where the shard is.
  std::string (*text)(const std::string& shard_path, const ShardIndex& index);
  std::string_view name{};  // by which it is asked for; may be empty where it comes with every shard
  bool always = true;       // false: written only where it is asked for
};

/// One shard of a dataset, as a file that lists them needs it.
struct ListedShard {
  std::string file;  // within the dataset's directory
  std::uint64_t num_samples = 0;
  std::uint64_t bytes = 0;
};

/// A file beside all shards of a dataset that lists them for readers other than ours; written where it is asked for.
struct ShardList {
  std::string_view name;  // by which it is asked for
  std::string_view file;
  std::string (*text)(const std::string& dataset, std::span<const ListedShard> shards);
};

/// One way a format lays samples out on disk.
struct Layout {
  std::string_view name;           // "plain", "zst", "blob", ...
  std::string_view suffix;         // of shard files, with the dot: ".tar.zst"; may be empty where names are counted
  bool counted = false;            // shards are called NAME-00003-of-00012SUFFIX rather than NAME-000003SUFFIX
  bool keeps_bytes = true;         // false: fields come back decoded, not as the bytes that were packed
  bool keeps_keys_in_file = true;  // false: keys live in our index only
  bool keys_name_files = false;    // keys become names that readers cut at the first dot: others are encoded (key.hpp)
  bool keeps_all_fields = true;    // false: an image and a label, nothing else
  bool compresses_fields = false;  // has room for zstd-compressed fields ("json.zst")
  std::string_view summary{};      // one line for --help
  std::span<const Sidecar> sidecars{};
  std::span<const ShardList> lists{};
};

/// What `probe` may look at: the name and the first bytes of a file.
struct ProbeInput {
  std::string_view path;
  Bytes head;  // up to 4 KiB
  std::uint64_t file_bytes = 0;
};

/// Random access to the stored bytes of one shard. Const methods may be called by many threads at once.
/// Open in the process that uses it; never carry one across fork.
class Payload {
 public:
  virtual ~Payload() = default;

  /// Fills `out` (out.size() == extent.length) with the stored bytes of field `field` of sample `sample`.
  /// Throws `damaged` where the container does not give them.
  virtual void read(std::uint64_t sample, std::uint32_t field, const Extent& extent, MutableBytes out) const = 0;

  /// Where those bytes are in the shard file (whole compressed frames where it is compressed);
  /// nullopt where only the container's library knows.
  virtual std::optional<FileRange> locate(std::uint64_t sample, std::uint32_t field, const Extent& extent) const = 0;

  /// Asks for the range to be read ahead; returns at once.
  virtual void will_need(const FileRange& range) const = 0;

  /// Whether a located field's stored bytes are those at its extent's offset in the shard file, of its length.
  virtual bool is_plain() const { return false; }
};

/// Payload of every container whose located fields lie in the file as they are: one pread a field.
class FilePayload : public Payload {
 public:
  explicit FilePayload(const std::string& path);
  void read(std::uint64_t sample, std::uint32_t field, const Extent& extent, MutableBytes out) const override;
  std::optional<FileRange> locate(std::uint64_t sample, std::uint32_t field, const Extent& extent) const override;
  void will_need(const FileRange& range) const override;
  bool is_plain() const override { return true; }

 protected:
  File file_;
};

/// What is known of a shard before its first sample: upper bounds, exact unless a sample is skipped.
struct ShardPlan {
  struct Field {
    std::string name;  // stored name: "jpg", "json.zst"
    std::uint64_t num_samples = 0;
    std::uint64_t bytes = 0;  // for compressed fields: of the uncompressed bytes
  };
  std::uint64_t num_samples = 0;
  std::vector<Field> fields{};
  std::uint64_t key_bytes = 0;
};

struct WriterOptions {
  std::string path;         // file to create; a temporary name
  std::string_view layout;  // Layout::name
  ShardPlan plan{};
  std::map<std::string, std::string> format_options{};  // the format's own, e.g. {"size", "128"}
  std::vector<std::string> class_names{};               // may be empty
};

/// Writes one shard. For one thread; destroying it without finish() leaves an unfinished file to delete.
class ShardWriter {
 public:
  virtual ~ShardWriter() = default;

  /// Appends a sample. Field names are stored names; views are not kept. Throws `invalid_argument` for
  /// a sample the container cannot hold (the shard then goes on without it), `io` when writing fails.
  virtual void add(const SampleView& sample) = 0;

  /// Completes the file, and for the n-th added sample calls set_extent(n, f, ...) on `index` for each
  /// field it has, f being the position of the field's stored name in `index.fields()` (stored_name()).
  /// Fields whose offsets are not byte positions are declared so with index.set_located(f, false).
  /// The caller makes the file durable.
  virtual void finish(IndexBuilder& index) = 0;
};

struct Format {
  std::string_view name;
  std::span<const Layout> layouts;  // the first is the default
  /// How sure the format is that the file is its own: 0 no, 100 by signature; cheap, never throws.
  int (*probe)(const ProbeInput& input);
  /// Finds every sample of a container that has no index of ours, reading headers only. Declares fields,
  /// adds samples, sets extents and labels. What it does not deliver goes into index.notices(). Throws `damaged`
  /// or `unsupported`.
  void (*scan)(const std::string& path, IndexBuilder& index);
  /// Opens the payload of a shard whose index is known; `index` outlives the payload.
  std::unique_ptr<Payload> (*open)(const std::string& path, const ShardIndex& index);
  std::unique_ptr<ShardWriter> (*create)(const WriterOptions& options);
  /// Whether scan is safe on damaged bytes: our own bounds-checked parser rather than a library that may crash.
  bool scan_survives_damage = false;
  /// Whether shards outlive the process; false for a format that keeps them in its memory.
  bool on_disk = true;
  /// Reads everything and compares the checksums that the container itself keeps; null where it keeps none. Throws
  /// `damaged`, naming the place.
  void (*check)(const std::string& path) = nullptr;
};

/// Every format that was built in, in the order of formats/CMakeLists.txt.
std::span<const Format* const> formats();

struct FormatAndLayout {
  const Format* format;
  const Layout* layout;
};

/// Looks up "NAME", "NAME.LAYOUT" (or NAME with `layout` given); throws `invalid_argument` listing what there is.
FormatAndLayout find_format(std::string_view name, std::string_view layout = {});

/// The same among layouts that hold pixels: the format's first of them where no layout is given.
FormatAndLayout find_decoded_format(std::string_view name, std::string_view layout = {});

/// The format that bids highest for a file; throws `unsupported` where none does.
const Format& probe_format(const std::string& path);

}  // namespace bale
