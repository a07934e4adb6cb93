// ShardIndex: where every field of every sample of one shard lies, with checksums, labels and sizes.
//
// One layout serves three ends: the `.bidx` file beside a shard (mapped, not parsed), the index a
// packer builds, and the one made by scanning a foreign container. Bytes: formats/core/INDEX.md.
//
// Ownership: names and keys handed out borrow from the index and live as long as it does.
// Threads: immutable once made; safe to read from any number of threads. Processes: the mapping is
// shared between processes through the page cache.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/core/bytes.hpp"
#include "bale/formats/core/checksum.hpp"
#include "bale/formats/core/file.hpp"
#include "bale/formats/core/notice_log.hpp"
#include "bale/formats/core/sample.hpp"

namespace bale {

/// How a field's bytes are stored in the container.
enum class Codec : std::uint8_t { none = 0, zstd = 1 };

/// One column of a shard: a field that some of its samples have.
struct FieldInfo {
  std::string name;                // as delivered: "json"
  Codec codec = Codec::none;       // zstd: stored as one zstd frame a sample, in the container as "json.zst"
  bool located = true;             // offsets are byte positions in the container's stream; else ordinals of its own
  std::uint64_t stored_bytes = 0;  // sum of stored lengths

  /// The name inside the container: "json", or "json.zst" where compressed.
  std::string stored_name() const { return codec == Codec::zstd ? name + ".zst" : name; }
};

/// A field of one sample. 16 bytes, as on disk.
struct Extent {
  static constexpr std::uint64_t k_absent = ~std::uint64_t{0};

  std::uint64_t offset = k_absent;  // see FieldInfo::located
  std::uint32_t length = 0;         // stored bytes
  std::uint32_t crc32c = 0;         // of the delivered (decompressed) bytes; meaningless without checksums

  bool present() const { return offset != k_absent; }
};

class ShardIndex {
 public:
  /// Maps a `.bidx` file; throws `damaged` where it contradicts its own checksums or sizes.
  static ShardIndex load(const std::string& path);
  /// The same from memory; `path` is for messages only.
  static ShardIndex from_bytes(std::vector<std::byte> bytes, const std::string& path);

  std::uint64_t size() const { return num_samples_; }
  const std::vector<FieldInfo>& fields() const { return fields_; }
  std::optional<std::uint32_t> field_id(std::string_view name) const;

  /// Preconditions of all below: i < size(), field < fields().size().
  std::string_view key(std::uint64_t i) const;
  std::int64_t label(std::uint64_t i) const;
  std::uint32_t width(std::uint64_t i) const;
  std::uint32_t height(std::uint64_t i) const;
  Extent extent(std::uint64_t i, std::uint32_t field) const;
  /// The first field of sample `i` that has an image's name, else the decoded one (k_array_field); nullopt where it has
  /// neither.
  std::optional<std::uint32_t> image_field(std::uint64_t i) const;

  /// Sample with this key; O(log n), allocates nothing.
  std::optional<std::uint64_t> find(std::string_view key) const;

  /// Whether the extents carry CRC32Cs (a header-only scan cannot know them).
  bool has_checksums() const { return has_checksums_; }
  /// Size in bytes of the shard file this index was made for.
  std::uint64_t shard_bytes() const { return shard_bytes_; }
  /// XXH3-128 of the whole shard file; nullopt where it was not computed.
  std::optional<Digest> digest() const;
  /// The index as it is on disk; borrows.
  Bytes bytes() const { return bytes_; }
  /// What the scan that made this index left out; empty for an index from a file.
  const NoticeLog& notices() const { return notices_; }
  void set_notices(NoticeLog notices) { notices_ = std::move(notices); }

 private:
  ShardIndex() = default;
  void parse(const std::string& path);

  FileMapping mapping_;
  std::vector<std::byte> owned_;
  NoticeLog notices_;
  Bytes bytes_{};
  std::uint64_t num_samples_ = 0;
  std::vector<FieldInfo> fields_;
  bool has_checksums_ = false;
  std::uint64_t shard_bytes_ = 0;
  const std::byte* extents_ = nullptr;
  const std::byte* samples_ = nullptr;
  const std::byte* key_ends_ = nullptr;
  const std::byte* key_order_ = nullptr;
  const char* keys_ = nullptr;
};

/// Collects the samples of one shard and lays them out. About 56 bytes a sample + 16 a field + its key.
/// For one thread.
class IndexBuilder {
 public:
  /// Declares the next column; its id is its position. Throws `invalid_argument` past 255 columns or
  /// for a name over 47 bytes.
  std::uint32_t add_field(std::string_view name, Codec codec = Codec::none, bool located = true);
  std::optional<std::uint32_t> field_id(std::string_view name) const;
  /// The same by the name inside the container ("json.zst").
  std::optional<std::uint32_t> stored_field_id(std::string_view stored_name) const;
  void set_located(std::uint32_t field, bool located) { fields_[field].located = located; }
  const std::vector<FieldInfo>& fields() const { return fields_; }

  /// Opens the next sample and returns its ordinal; every field starts absent.
  std::uint64_t add_sample(std::string_view key, std::int64_t label = k_no_label, std::uint32_t width = 0,
                           std::uint32_t height = 0);
  std::uint64_t size() const { return samples_.size(); }
  /// Borrows until the next add_sample.
  std::string_view key(std::uint64_t i) const;

  void set_label(std::uint64_t i, std::int64_t label) { samples_[i].label = label; }
  void set_dimensions(std::uint64_t i, std::uint32_t width, std::uint32_t height);
  void set_extent(std::uint64_t i, std::uint32_t field, std::uint64_t offset, std::uint32_t length);
  void set_crc32c(std::uint64_t i, std::uint32_t field, std::uint32_t crc);
  Extent extent(std::uint64_t i, std::uint32_t field) const { return extents_[i][field]; }

  /// What a scan found and does not deliver, and what it wants said of the container: NoticeLog::add() and warn() (with
  /// no place).
  NoticeLog& notices() { return notices_; }
  const NoticeLog& notices() const { return notices_; }

  /// Lays the index out, without the columns that no sample has. `digest` where the file's is known; `has_checksums`
  /// where every present extent was given its CRC. Throws `damaged` for duplicate keys, naming one.
  std::vector<std::byte> build(std::uint64_t shard_bytes, const std::optional<Digest>& digest, bool has_checksums,
                               const std::string& shard_path) const;

 private:
  struct SampleRow {
    std::int64_t label;
    std::uint32_t width;
    std::uint32_t height;
  };
  // Rows of extents, one row a sample, re-strided when a late field appears.
  class ExtentRows {
   public:
    Extent* operator[](std::uint64_t i) { return rows_.data() + i * stride_; }
    const Extent* operator[](std::uint64_t i) const { return rows_.data() + i * stride_; }
    void add_row() { rows_.resize(rows_.size() + stride_); }
    void widen(std::uint64_t num_rows);

   private:
    std::vector<Extent> rows_;
    std::size_t stride_ = 0;
  };

  static constexpr std::size_t k_max_notices = 100;  // names kept per shard; all are counted

  std::vector<FieldInfo> fields_;
  NoticeLog notices_{k_max_notices};
  std::vector<SampleRow> samples_;
  ExtentRows extents_;
  std::vector<std::uint64_t> key_ends_;
  std::string keys_;
};

/// Path of the index that belongs to a shard file.
std::string index_path(const std::string& shard_path);

}  // namespace bale
