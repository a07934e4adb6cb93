// ShardIndex: offset, length and checksum of every field of every sample of one shard, with keys, labels and image
// sizes.
//
// The same format is used for the `.bidx` file next to a shard, which is read as a whole, for the index that
// packing builds, and for the one that a scan makes. Format: formats/shard/index/INDEX.md.
//
// Ownership: keys, names and rows borrow from the index and live as long as it does.
// Threads: immutable except for set_notices(); any number of threads may read it.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/file_stamp.hpp"
#include "bale/formats/base/image_condition.hpp"
#include "bale/formats/base/notice_log.hpp"
#include "bale/formats/shard/sample.hpp"

namespace bale {

class IndexMemory;

inline constexpr std::size_t k_max_index_fields = 65'535;
inline constexpr std::size_t k_max_field_name_bytes = 4096;

/// How a field's bytes are stored in the container.
enum class Codec : std::uint8_t { none = 0, zstd = 1, planes = 2 };

/// What an index may have.
inline constexpr Codec k_last_codec = Codec::planes;

/// As manifests and `--json` have it: "none", "zstd", "planes".
std::string_view name_of(Codec codec);

/// One column of a shard: a field that some of its samples have.
struct FieldInfo {
  std::string name;  // as delivered: "json"
  Codec codec =
      Codec::none;      // zstd: one zstd frame per sample; planes: a JPEG as formats/image/jpeg/planes/PLANES.md says
  bool located = true;  // offsets are byte positions in the container's stream, else the format's own numbers
  std::uint64_t stored_bytes = 0;  // sum of stored lengths
  std::uint64_t num_samples = 0;   // that have it

  /// The name inside the container: "json"; "json.zst" if compressed, "jpg.bjp" for planes.
  std::string stored_name() const;
};

/// Where a field of one sample is stored. 16 bytes, as on disk.
struct Extent {
  static constexpr std::uint64_t k_absent = ~std::uint64_t{0};
  /// In no container: the bytes are the label of the sample as text, because a layer corrects it (layer.hpp). No file
  /// has such an offset.
  static constexpr std::uint64_t k_label_text = std::uint64_t{1} << 62;

  std::uint64_t offset = k_absent;  // see FieldInfo::located
  std::uint32_t length = 0;         // stored bytes
  std::uint32_t crc32c = 0;         // of the delivered (decompressed) bytes, if ShardIndex::has_checksums()

  bool present() const { return offset != k_absent; }
  bool is_label_text() const { return offset == k_label_text; }
};

struct FieldExtent {
  std::uint32_t field = 0;
  Extent extent{};
};

/// The fields that one sample has, by ascending field id. It and its iterators borrow from the index.
class ExtentRow {
 public:
  class Iterator {
   public:
    using value_type = FieldExtent;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    FieldExtent operator*() const {
      return {ids_ == nullptr ? static_cast<std::uint32_t>(at_) : load_at<std::uint16_t>(ids_ + at_ * k_id_bytes),
              load_at<Extent>(extents_ + at_ * sizeof(Extent))};
    }
    Iterator& operator++() {
      ++at_;
      skip_absent();
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    friend class ExtentRow;
    Iterator(const ExtentRow& row, std::uint64_t at)
        : extents_(row.extents_), ids_(row.ids_), size_(row.size_), at_(at) {
      skip_absent();
    }
    // Only version 1 has rows with gaps.
    void skip_absent() {
      while (at_ < size_ && !load_at<Extent>(extents_ + at_ * sizeof(Extent)).present()) ++at_;
    }
    const std::byte* extents_ = nullptr;
    const std::byte* ids_ = nullptr;
    std::uint64_t size_ = 0;
    std::uint64_t at_ = 0;
  };

  /// `ids` is null if the n-th extent is that of field n.
  ExtentRow(const std::byte* extents, const std::byte* ids, std::uint64_t size)
      : extents_(extents), ids_(ids), size_(size) {}

  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size_}; }
  /// The field's extent; Extent::present() is false if the sample does not have it.
  Extent find(std::uint32_t field) const;

 private:
  static constexpr std::size_t k_id_bytes = sizeof(std::uint16_t);

  const std::byte* extents_;
  const std::byte* ids_;
  std::uint64_t size_;
};

class ShardIndex {
 public:
  /// Reads a `.bidx` file and checks it. Throws `damaged` if it contradicts its own checksums or sizes, `unsupported`
  /// for another version, and what File::open_read() throws. The file may change afterwards.
  static ShardIndex load(const std::string& path);
  /// The same from memory. `path` is used in messages only.
  static ShardIndex from_bytes(std::vector<std::byte> bytes, const std::string& path);
  /// The index that keep_in() of another process has put at `place`. It is not checked again, and
  /// FieldInfo::num_samples is 0. nullptr if the memory cannot be mapped.
  static std::shared_ptr<const ShardIndex> from_memory(const std::shared_ptr<IndexMemory>& memory,
                                                       const IndexPlace& place, const std::string& path);
  /// Moves the index into `memory` if that has room. Nothing may borrow from the index.
  void keep_in(const std::shared_ptr<IndexMemory>& memory);
  /// Where it lies in the memory that other processes share; empty if in none.
  const IndexPlace& place() const { return place_; }

  std::uint64_t size() const { return num_samples_; }
  const std::vector<FieldInfo>& fields() const { return fields_; }
  /// The id of the first field of this name.
  std::optional<std::uint32_t> field_id(std::string_view name) const;

  // Preconditions from here to image_field(), which are not checked: i < size(), field < fields().size().

  std::string_view key(std::uint64_t i) const;
  /// k_no_label if the sample has none.
  std::int64_t label(std::uint64_t i) const;
  /// Size of the image in pixels, 0 if unknown.
  std::uint32_t width(std::uint64_t i) const;
  std::uint32_t height(std::uint64_t i) const;
  ImageCondition condition(std::uint64_t i) const;
  /// The fields that sample `i` has.
  ExtentRow row(std::uint64_t i) const;
  /// The field's extent; Extent::present() is false if the sample does not have it.
  Extent extent(std::uint64_t i, std::uint32_t field) const;
  /// The first field of sample `i` with an image's name, else the field of pixels (k_array_field), else nullopt.
  std::optional<std::uint32_t> image_field(std::uint64_t i) const;

  /// The sample with this key. O(log n). Does not allocate.
  std::optional<std::uint64_t> find(std::string_view key) const;

  /// Version of the index format, 1 or 2.
  std::uint32_t version() const { return version_; }
  /// Whether Extent::crc32c is known. A scan does not compute it.
  bool has_checksums() const { return has_checksums_; }
  /// Size in bytes of the shard file that this index was made for.
  std::uint64_t shard_bytes() const { return shard_bytes_; }
  /// XXH3-128 of the whole shard file; nullopt if it was not computed.
  std::optional<Digest> digest() const { return digest_; }
  /// digest_file_ends() of the shard file; nullopt if it was not computed. Version 1 does not have it.
  std::optional<Digest> ends_digest() const { return ends_digest_; }
  /// The content of the index file. Borrows from this object.
  Bytes bytes() const { return content_; }
  /// Tells indexes apart: a hash of their header, which has a checksum of all that follows.
  std::uint64_t identity() const { return identity_; }
  /// Notices of the scan that made this index, or of the check that it is not stale.
  const NoticeLog& notices() const { return notices_; }
  void set_notices(NoticeLog notices) { notices_ = std::move(notices); }

 private:
  ShardIndex() = default;
  enum class Checks : std::uint8_t { all, none };
  void parse(const std::string& path, Checks checks);
  void parse_fields_version_1(std::uint64_t at, std::uint64_t count, const std::string& path);
  void parse_fields(std::uint64_t at, std::uint64_t names, std::uint64_t name_bytes, std::uint64_t count,
                    const std::string& path);
  void prepare_lookups();
  void check_rows(std::uint64_t num_extents, const std::string& path);
  void check_extents(std::uint64_t num_extents, const std::string& path);
  void check_keys(std::uint64_t key_bytes, const std::string& path) const;
  int compare_key(std::uint64_t at, std::uint32_t hash, std::string_view key) const;

  std::shared_ptr<const void> owner_;  // of content_
  Bytes content_;
  IndexPlace place_{};
  std::uint64_t identity_ = 0;
  NoticeLog notices_;
  std::uint64_t num_samples_ = 0;
  std::vector<FieldInfo> fields_;
  std::vector<std::uint32_t> fields_by_name_;  // ids sorted by name; only if there are many
  std::vector<std::uint8_t> is_image_;         // per field
  std::optional<std::uint32_t> array_field_;
  std::uint32_t version_ = 0;
  bool has_checksums_ = false;
  std::uint64_t shard_bytes_ = 0;
  std::optional<Digest> digest_;
  std::optional<Digest> ends_digest_;
  const std::byte* row_ends_ = nullptr;   // null: every row has all fields
  const std::byte* field_ids_ = nullptr;  // null likewise
  const std::byte* extents_ = nullptr;
  const std::byte* samples_ = nullptr;
  const std::byte* conditions_ = nullptr;  // null in version 1
  const std::byte* key_ends_ = nullptr;
  const std::byte* key_order_ = nullptr;
  const std::byte* keys_ = nullptr;
};

/// Path of the index of a shard file: "X.bidx" for shard "X".
std::string index_path(const std::string& shard_path);

}  // namespace bale
