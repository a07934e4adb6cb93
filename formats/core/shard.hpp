// Shard: one container file opened for reading; index and payload together.
//
// Checksums are compared before anything is delivered (unless turned off), compressed fields are
// decompressed, and every error names the shard, the key and the offset.
//
// Threads: const methods may be called by many threads at once, each with a Scratch of its own.
// Processes: open in the process that reads; never use one across fork.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bale/formats/core/direct_file.hpp"
#include "bale/formats/core/error.hpp"
#include "bale/formats/core/format.hpp"
#include "bale/formats/core/index_builder.hpp"
#include "bale/formats/core/shard_index.hpp"

namespace bale {

struct ShardOpenOptions {
  bool verify_checksums = true;  // compare each field's CRC32C before delivering it
  bool direct_io = false;        // around the page cache, where format and file system can
  bool check_size = true;        // refuse a file whose size is not the one its index was made for
  /// Refuse a file that was changed after its index was made, as far as that can be told cheaply (stale_index.hpp).
  /// For the first process of many that read the same shards.
  bool check_stale = true;
};

/// One finding of verify.
struct Damage {
  std::string path;   // shard or index file
  std::string key{};  // sample affected; empty: container structure
  std::string field{};
  std::optional<std::uint64_t> offset{};  // of the field's stored bytes in the file
  std::string what;
};

class Shard {
 public:
  /// Opens `path` with the `.bidx` beside it, or (none there) by scanning its headers. Throws `damaged`
  /// where the file's size is not the one its index was made for.
  static Shard open(const std::string& path, const ShardOpenOptions& options = {});
  /// The same with format and index given.
  static Shard open(const std::string& path, const Format& format, ShardIndex index,
                    const ShardOpenOptions& options = {});
  static Shard open(const std::string& path, const Format& format, std::shared_ptr<const ShardIndex> index,
                    const ShardOpenOptions& options = {});

  const std::string& path() const { return path_; }
  const Format& format() const { return *format_; }
  const ShardIndex& index() const { return *index_; }
  const std::shared_ptr<const ShardIndex>& shared_index() const { return index_; }
  std::uint64_t size() const { return index_->size(); }

  /// All fields of sample `i`. The view borrows from `scratch` (bytes) and from this shard (names, key).
  SampleView read(std::uint64_t i, Scratch& scratch) const;
  /// One field of sample `i`; throws `not_found` where the sample has none of that name.
  Bytes read_field(std::uint64_t i, std::string_view field, Scratch& scratch) const;
  /// The first field with an image's name; throws `not_found` where sample `i` has none.
  Bytes read_image(std::uint64_t i, Scratch& scratch) const;

  /// The record of sample `i` in the file of entry points beside the shard (formats/image/entry_points.hpp), as it is
  /// there: whether it is this image's is for the decoder to see. Empty where there is none. The file is opened at the
  /// first call; one that is damaged, or was made for another shard, counts as none. Borrows from this shard.
  Bytes entry_points(std::uint64_t i) const;

  /// Where sample `i`'s bytes lie in the file, merged where they touch; empty where only the container's
  /// library knows.
  std::vector<FileRange> locate(std::uint64_t i) const;
  const Payload& payload() const { return *payload_; }

  /// Reads and compares everything: file size, whole-file digest, every field's checksum, and the container's
  /// own structure by a fresh scan against the index (where the scan cannot be crashed by damage, or the
  /// digest has shown that there is none). Calls `report` for each finding. `on_progress` (bytes read since the last
  /// call) may throw to stop. Flaws of the container that reading tolerates are findings. Returns the scan's other
  /// notices.
  NoticeLog verify(const std::function<void(const Damage&)>& report,
                   const std::function<void(std::uint64_t)>& on_progress = {}) const;

 private:
  struct Inflater;
  Shard() = default;
  Bytes load_field(std::uint64_t i, std::uint32_t field, const Extent& extent, MutableBytes stored,
                   Scratch& scratch) const;
  Bytes load_field(std::uint64_t i, std::uint32_t field, const Extent& extent, MutableBytes stored,
                   Inflater& inflater) const;

  std::string path_;
  const Format* format_ = nullptr;
  std::shared_ptr<const ShardIndex> index_;  // stable address: the payload refers to it
  std::unique_ptr<const Payload> payload_;
  std::optional<DirectFile> direct_;
  struct EntryPoints;
  std::shared_ptr<EntryPoints> entry_points_;  // opened late
  ShardOpenOptions options_;
};

/// Scans `path` into an index without checksums. Throws `damaged` or `unsupported`.
ShardIndex scan_shard(const std::string& path, const Format& format);

/// What an index says of an image besides where it is.
struct ImageEntry {
  std::uint32_t width = 0;  // 0: unknown
  std::uint32_t height = 0;
  ImageCondition condition = ImageCondition::unknown;
};
using LookAtImage = std::function<ImageEntry(Bytes image)>;

/// Reads every field of every sample through the payload and sets its CRC32C, and with `look` what it says of the
/// images, on `builder`, whose samples and extents are known. `on_progress`: bytes since the last call.
void checksum_payload(IndexBuilder& builder, const std::string& path, const Format& format, const LookAtImage& look,
                      const std::function<void(std::uint64_t)>& on_progress);

/// Builds the full index of a foreign shard: scan, then every payload read once for its CRC32C, the
/// file's digest and what `look` (may be null) says of the images. What the scan left out is added to `notices`.
std::vector<std::byte> index_shard(const std::string& path, const Format& format, const LookAtImage& look,
                                   const std::function<void(std::uint64_t)>& on_progress, NoticeLog& notices);

}  // namespace bale
