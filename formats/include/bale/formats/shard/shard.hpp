// Shard: one container file opened for reading, with its index.
//
// Checksums are compared before anything is delivered, unless turned off. Compressed fields are decompressed.
//
// Ownership: keys, names and indexes that are handed out borrow from the shard; field bytes borrow from the caller's
// Scratch, and live until it is used again.
// Threads: const methods may be called by many threads at once, each with its own Scratch.
// Processes: do not use a Shard after fork(); open it in the process that reads.
// Errors: they name the shard, the key, and the offset if it is known.
// Preconditions, which are not checked: sample numbers are below size().
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bale/formats/base/direct_file.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file_stamp.hpp"
#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/index_builder.hpp"
#include "bale/formats/shard/shard_index.hpp"

namespace bale {

class Layers;

struct ShardOpenOptions {
  bool verify_checksums = true;  // compare each field's CRC32C before delivering it
  bool direct_io = false;        // bypass the page cache, if format and file system support it
  bool check_size = true;        // refuse a file whose size differs from the one in its index
  /// Refuse a file that was changed after its index was made, as far as a cheap check can tell (current_index.hpp). If
  /// many processes read the same shards, it is enough that the first one checks.
  bool check_stale = true;
  /// What a version changes of the shard: open_shard() and salvage_shard() amend its index (layer.hpp).
  std::shared_ptr<const Layers> layers{};
  /// Of the shard, as its manifest says; empty: as its index says.
  std::string digest{};
  /// If set, open_shard() puts the index there, for other processes (ShardIndex::keep_in()).
  std::shared_ptr<IndexMemory> index_memory{};
};

/// In which form a field is delivered.
enum class FieldForm : std::uint8_t {
  original,
  decodable,  // for ImageDecoder::open(): a JPEG that is stored as planes is not restored
};

/// One finding of Shard::verify().
struct Damage {
  std::string path;                       // shard or index file
  std::string key{};                      // of the affected sample; empty: not about one sample
  std::string field{};                    // of that sample
  std::optional<std::uint64_t> offset{};  // in the file, in bytes
  std::string what;
  ErrorCode code =
      ErrorCode::damaged;  // or `unsupported`: nothing is wrong, and bale does not read it; `io`: the disk fails
};

class Shard {
 public:
  /// Opens `path` with a given format and index; open_shard() finds both (registry/registry.hpp). Throws `damaged` if
  /// the file's size differs from the one in the index, and what Format::open() throws. ShardOpenOptions::check_stale
  /// is ignored.
  static Shard open(const std::string& path, const Format& format, ShardIndex index,
                    const ShardOpenOptions& options = {});
  static Shard open(const std::string& path, const Format& format, std::shared_ptr<const ShardIndex> index,
                    const ShardOpenOptions& options = {});

  const std::string& path() const { return path_; }
  const Format& format() const { return *format_; }
  const ShardIndex& index() const { return *index_; }
  const std::shared_ptr<const ShardIndex>& shared_index() const { return index_; }
  std::uint64_t size() const { return index_->size(); }
  /// As it was when the shard was opened.
  ShardIdentity identity() const { return {.index = index_->identity(), .file = file_, .place = index_->place()}; }
  /// Throws `changed` unless this is the shard that `known` was taken of: the same index, and a file that was not
  /// written since, or has the digest in the index. The digest is computed only for a file that was written or
  /// replaced.
  void require_identity(const ShardIdentity& known) const;
  /// An error of reading this shard. If it is about content, and the file was written or replaced since it was opened,
  /// `changed`: no sample is at fault.
  Error judged(const Error& error) const;

  /// All fields of sample `i`. Throws `damaged` if a checksum does not match or a field cannot be read from the
  /// container, and `io`.
  SampleView read(std::uint64_t i, Scratch& scratch) const;
  /// One field of sample `i`. Also throws `not_found` if the sample does not have it.
  Bytes read_field(std::uint64_t i, std::string_view field, Scratch& scratch,
                   FieldForm form = FieldForm::original) const;
  /// The image of sample `i`, as ShardIndex::image_field() chooses it. Also throws `not_found` if it has none.
  Bytes read_image(std::uint64_t i, Scratch& scratch, FieldForm form = FieldForm::original) const;

  /// The seek points of sample `i` in the file next to the shard (bale/formats/image/jpeg/seek_points.hpp), not
  /// checked: the decoder compares them with the image. Empty if there are none. The first call opens the file; a file
  /// that is damaged, or was made for another shard, is ignored.
  std::vector<std::byte> seek_points(std::uint64_t i) const;

  /// The ranges of the file that hold sample `i`, sorted and merged. Empty if only the container's library knows.
  std::vector<FileRange> locate(std::uint64_t i) const;
  const Payload& payload() const { return *payload_; }
  /// Whether ShardOpenOptions::direct_io was set, and format and file system support it.
  bool is_direct() const { return direct_.has_value(); }

  /// Reads everything and compares file size, digest, the checksum of every field, and a new scan of the container with
  /// the index. The scan is left out if damaged bytes could crash it (Format::scan_survives_damage) and the digest does
  /// not match. Defects of the container that reading tolerates are findings too.
  /// Calls `report` for each finding and `on_progress` with the number of bytes since its last call, both from the
  /// calling thread. Either may throw to stop. Returns the other notices of the scan. Throws errors that are not about
  /// the shard's content, such as a lack of file descriptors.
  NoticeLog verify(const std::function<void(const Damage&)>& report,
                   const std::function<void(std::uint64_t)>& on_progress = {}) const;

 private:
  struct Inflater;
  Shard() = default;
  Bytes load_field(std::uint64_t i, std::uint32_t field, const Extent& extent, MutableBytes stored, Scratch& scratch,
                   FieldForm form) const;
  Bytes load_field(std::uint64_t i, std::uint32_t field, const Extent& extent, MutableBytes stored,
                   Inflater& inflater) const;
  Bytes load_field_once(std::uint64_t i, std::uint32_t field, const Extent& extent, MutableBytes stored,
                        Inflater& inflater) const;
  template <typename Fields>
  void fetch_directly(const Fields& fields, Scratch& scratch) const;
  Bytes label_text(std::uint64_t i, MutableBytes out) const;
  Bytes stored_bytes(std::uint64_t i, std::uint32_t field, const Extent& extent, MutableBytes stored,
                     Scratch& scratch) const;
  Bytes read_extent(std::uint64_t i, std::uint32_t field, const Extent& extent, Scratch& scratch, FieldForm form) const;

  struct Verification;
  void verify_field(std::uint64_t i, std::uint32_t field, const Extent& extent, Scratch& scratch,
                    Verification& state) const;
  void verify_scan(Verification& state) const;
  void report_other_damage(const Digest& found, const Digest& expected, const Verification& state) const;

  std::string path_;
  const Format* format_ = nullptr;
  std::shared_ptr<const ShardIndex> index_;  // stable address: the payload refers to it
  std::unique_ptr<const Payload> payload_;
  FileStamp file_;  // of what payload_ has open
  std::optional<DirectFile> direct_;
  struct SeekPoints;
  std::shared_ptr<SeekPoints> seek_points_;  // opened on first use
  ShardOpenOptions options_;
};

/// The error of a shard that is another one than its user holds: `changed`.
Error changed_error(const std::string& path);
/// The error of a shard that is another one than its manifest names: `changed`.
Error changed_after_packing_error(const std::string& path);

/// Scans `path` and returns an index without checksums. Throws `damaged`, `unsupported`, and what File::open_read()
/// throws.
ShardIndex scan_shard(const std::string& path, const Format& format);

/// What an index says about an image besides its extent.
struct ImageEntry {
  std::uint32_t width = 0;  // 0: unknown
  std::uint32_t height = 0;
  ImageCondition condition = ImageCondition::unknown;
};
/// Examines the stored bytes of an image, which live until it returns.
using LookAtImage = std::function<ImageEntry(Bytes image)>;

/// Reads every field of every sample and sets its CRC32C on `builder`, whose samples and extents must be complete. If
/// `look` is not null, also sets size and condition of the images. Calls `on_progress` (may be null) with the number of
/// bytes since its last call. Callbacks run on the calling thread. Throws what Shard::read() throws.
void checksum_payload(IndexBuilder& builder, const std::string& path, const Format& format, const LookAtImage& look,
                      const std::function<void(std::uint64_t)>& on_progress);

/// Makes the index file of a shard: a scan, which `amend` (may be null) adds to what the file does not say,
/// checksum_payload(), and the digests of the file. Adds the notices of the scan to `notices`. Throws what scan_shard()
/// and checksum_payload() throw.
std::vector<std::byte> index_shard(const std::string& path, const Format& format, const LookAtImage& look,
                                   const std::function<void(std::uint64_t)>& on_progress, NoticeLog& notices,
                                   const std::function<void(IndexBuilder& scanned)>& amend = {});

}  // namespace bale
