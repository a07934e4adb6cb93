// IndexBuilder: collects the samples of one shard and lays them out as an index.
//
// Memory: about 33 bytes per sample, 24 per field that it has, and its key. What a sample lacks takes none.
// For one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bale/formats/core/notice_log.hpp"
#include "bale/formats/core/shard_index.hpp"

namespace bale {

class IndexBuilder {
 public:
  /// Declares the next column; its id is its position. Throws `invalid_argument` past k_max_index_fields columns or
  /// for a name over k_max_field_name_bytes.
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
  void set_condition(std::uint64_t i, ImageCondition condition) { conditions_[i] = condition; }
  ImageCondition condition(std::uint64_t i) const { return conditions_[i]; }
  void set_extent(std::uint64_t i, std::uint32_t field, std::uint64_t offset, std::uint32_t length);
  void set_crc32c(std::uint64_t i, std::uint32_t field, std::uint32_t crc);
  Extent extent(std::uint64_t i, std::uint32_t field) const { return extents_.get(i, field); }

  /// What a scan found and does not deliver, and what it wants said of the container: NoticeLog::add() and warn() (with
  /// no place).
  NoticeLog& notices() { return notices_; }
  const NoticeLog& notices() const { return notices_; }

  /// Lays the index out, without the columns that no sample has. `digest` where the file's is known, `ends_digest`
  /// likewise (digest_file_ends()); `has_checksums` where every present extent was given its CRC. Throws `damaged` for
  /// duplicate keys, naming one.
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
    // A row is a chain of nodes in the order in which they were set; what a row has beyond k_chain_length is found by
    // hash, so that no row takes quadratic time.
    struct Node {
      Extent extent;
      std::uint32_t next;
      std::uint32_t field;
    };
    static constexpr std::uint32_t k_none = ~std::uint32_t{0};
    static constexpr unsigned k_chain_length = 32;

    const Extent* find(std::uint64_t row, std::uint32_t field) const;

    std::vector<std::uint32_t> first_;  // node per row
    std::vector<Node> nodes_;
    std::unordered_map<std::uint64_t, std::unordered_map<std::uint32_t, Extent>> long_rows_;
  };

  static constexpr std::size_t k_max_notices = 100;  // names kept per shard; all are counted

  std::vector<std::uint32_t> used_columns() const;

  std::vector<FieldInfo> fields_;
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
