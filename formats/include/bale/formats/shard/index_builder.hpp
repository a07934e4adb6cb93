// IndexBuilder: collects the samples of one shard and writes its index.
//
// Memory: per sample about 33 bytes, its key, and 24 bytes for each field that it has.
// Threads: used by one thread at a time.
// Preconditions: sample numbers are below size(), field ids below fields().size().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bale/formats/base/notice_log.hpp"
#include "bale/formats/shard/shard_index.hpp"

namespace bale {

class IndexBuilder {
 public:
  /// Why set_label_of() adds a notice.
  static constexpr std::string_view k_text_label = "cls that is not a whole number, so no label";

  /// Declares a field and returns its id, which is its position in fields(). Throws `invalid_argument` for more than
  /// k_max_index_fields fields or a name of more than k_max_field_name_bytes.
  std::uint32_t add_field(std::string_view name, Codec codec = Codec::none, bool located = true);
  /// The id of the first field of this name ("json").
  std::optional<std::uint32_t> field_id(std::string_view name) const;
  /// The same by stored name, the name inside the container ("json.zst").
  std::optional<std::uint32_t> stored_field_id(std::string_view stored_name) const;
  /// Sets FieldInfo::located.
  void set_located(std::uint32_t field, bool located) { fields_[field].located = located; }
  const std::vector<FieldInfo>& fields() const { return fields_; }

  /// Adds a sample without fields and returns its number. Width and height are in pixels, 0 if unknown.
  std::uint64_t add_sample(std::string_view key, std::int64_t label = k_no_label, std::uint32_t width = 0,
                           std::uint32_t height = 0);
  std::uint64_t size() const { return samples_.size(); }
  /// The view lives until the next add_sample().
  std::string_view key(std::uint64_t i) const;

  /// The order of the fields in the index, by their names; others follow as they were declared.
  void order_fields(std::vector<std::string> names) { field_order_ = std::move(names); }

  /// Gives the samples, as many as `known` has, its keys, and its labels to those that have none.
  void take_keys(const ShardIndex& known);

  void set_label(std::uint64_t i, std::int64_t label) { samples_[i].label = label; }
  /// Sets the label to parse_label(cls). A notice names the sample and the text if that is not a number. `is_whole` is
  /// false if `cls` is the beginning of a longer text, which gives no label.
  void set_label_of(std::uint64_t i, Bytes cls, bool is_whole = true);
  void set_dimensions(std::uint64_t i, std::uint32_t width, std::uint32_t height);
  void set_condition(std::uint64_t i, ImageCondition condition) { conditions_[i] = condition; }
  ImageCondition condition(std::uint64_t i) const { return conditions_[i]; }
  /// Gives sample `i` the field, stored at `offset` (see FieldInfo::located) in `length` bytes. Throws `unsupported` if
  /// the shard has more fields than an index can hold.
  void set_extent(std::uint64_t i, std::uint32_t field, std::uint64_t offset, std::uint32_t length);
  /// Takes the field away from sample `i`.
  void clear_extent(std::uint64_t i, std::uint32_t field);
  /// Sets the CRC32C of the delivered (decompressed) bytes.
  void set_crc32c(std::uint64_t i, std::uint32_t field, std::uint32_t crc);
  /// The field's extent; Extent::present() is false if the sample does not have it.
  Extent extent(std::uint64_t i, std::uint32_t field) const { return extents_.get(i, field); }

  /// What a scan found but does not deliver, and its warnings about the container. Scans leave Warning::place empty.
  NoticeLog& notices() { return notices_; }
  const NoticeLog& notices() const { return notices_; }

  /// The content of the index file. Fields that no sample has are left out. `shard_bytes` is the size of the shard
  /// file; `digest` and `ends_digest` are its digest_file() and digest_file_ends(), if known; `has_checksums` says that
  /// set_crc32c() was called for every extent; `shard_path` is used in messages only. Throws `damaged` if two samples
  /// have the same key, naming it, and `unsupported` for too many samples.
  std::vector<std::byte> build(std::uint64_t shard_bytes, const std::optional<Digest>& digest, bool has_checksums,
                               const std::string& shard_path,
                               const std::optional<Digest>& ends_digest = std::nullopt) const;

 private:
  struct SampleRow {
    std::int64_t label;
    std::uint32_t width;
    std::uint32_t height;
  };

  /// The extents that samples have, in any order of being set.
  class SparseExtents {
   public:
    void add_row() { first_.push_back(k_none); }
    /// The extent, made absent if the sample lacks the field.
    Extent& at(std::uint64_t row, std::uint32_t field);
    Extent get(std::uint64_t row, std::uint32_t field) const;
    /// Appends those of one row that are present, by ascending field.
    void append_row(std::uint64_t row, std::vector<FieldExtent>& out) const;

   private:
    // A row is a linked list of nodes in the order in which they were set. Fields after the first k_chain_length are in
    // a hash table, so that no row takes quadratic time.
    struct Node {
      Extent extent;
      std::uint32_t next;
      std::uint32_t field;
    };
    static constexpr std::uint32_t k_none = ~std::uint32_t{0};
    static constexpr unsigned k_chain_length = 32;

    const Extent* find(std::uint64_t row, std::uint32_t field) const;

    std::vector<std::uint32_t> first_;  // first node of each row
    std::vector<Node> nodes_;
    std::unordered_map<std::uint64_t, std::unordered_map<std::uint32_t, Extent>> long_rows_;
  };

  static constexpr std::size_t k_max_notices = 100;  // names kept per shard; all are counted

  std::vector<std::uint32_t> used_columns() const;

  std::vector<FieldInfo> fields_;
  std::vector<std::string> field_order_;
  NoticeLog notices_{k_max_notices};
  std::map<std::string, std::uint32_t, std::less<>> ids_by_name_;  // of the first field of a name
  std::map<std::string, std::uint32_t, std::less<>> ids_by_stored_name_;
  std::vector<SampleRow> samples_;
  std::vector<ImageCondition> conditions_;
  SparseExtents extents_;
  std::vector<std::uint64_t> key_ends_;
  std::string keys_;
};

}  // namespace bale
