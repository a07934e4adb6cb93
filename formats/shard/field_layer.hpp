// A layer of the kind `field`: values of one field for some samples of shards that exist. Format:
// formats/shard/LAYER.md.
//
// Only its head is in memory, 64 bytes per shard. The rows of a shard are read when its index is opened, a value when
// it is asked for.
//
// Threads: const methods may be called by many threads at once. Errors: those of reading files, and `damaged`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/manifest.hpp"

namespace bale {

/// Most bytes that all values of a layer may begin with.
inline constexpr std::size_t k_max_prefix_bytes = std::size_t{64} << 10;

/// The value of one sample.
struct FieldLayerRow {
  std::uint32_t row = 0;     // of the sample in the shard as it is stored
  std::uint32_t bytes = 0;   // stored in the layer
  std::uint32_t crc32c = 0;  // of the value: the prefix and these bytes
};
static_assert(sizeof(FieldLayerRow) == 12);

class FieldLayer {
 public:
  struct OfShard {
    Digest shard{};
    Digest rows_digest{};
    Digest values_digest{};
    std::uint64_t rows_end = 0;    // among the rows of all shards
    std::uint64_t values_end = 0;  // among the bytes of all values
  };
  static_assert(sizeof(OfShard) == 64);

  /// Reads the head, which has the digests of all else, and compares it with the name of the file.
  static FieldLayer open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const std::string& field() const { return field_; }
  /// What every value begins with; it is stored once.
  Bytes prefix() const { return prefix_; }
  /// Ascending by digest.
  const std::vector<OfShard>& shards() const { return shards_; }
  std::uint64_t num_rows() const { return shards_.empty() ? 0 : shards_.back().rows_end; }

  /// The values of the n-th shard, ascending by row.
  std::vector<FieldLayerRow> rows(std::size_t shard) const;
  /// Offset in the file of the first value of the n-th shard; others follow without gaps.
  std::uint64_t values_at(std::size_t shard) const;
  /// Fills `out` with the prefix and the stored bytes at `offset`. Precondition: it is not smaller than the prefix.
  void read(std::uint64_t offset, MutableBytes out) const;
  /// Drops what is cached of a value of a remote layer.
  void forget(std::uint64_t offset, std::uint64_t bytes) const { file_.forget(offset, bytes); }
  /// Compares the stored values of the n-th shard with their digest.
  bool has_values_as_written(std::size_t shard) const;

 private:
  FieldLayer() = default;
  void parse_directory(Bytes directory, std::uint64_t num_rows);
  std::uint64_t rows_begin(std::size_t shard) const { return shard == 0 ? 0 : shards_[shard - 1].rows_end; }
  std::uint64_t values_begin(std::size_t shard) const { return shard == 0 ? 0 : shards_[shard - 1].values_end; }

  File file_;
  std::string field_;
  std::vector<std::byte> prefix_;
  std::vector<OfShard> shards_;
  std::uint64_t rows_at_ = 0;    // offsets in the file
  std::uint64_t values_at_ = 0;  // likewise
};

/// Writes such a layer, value by value. Used by one thread.
class FieldLayerWriter {
 public:
  struct OfShard {
    Digest shard{};
    std::vector<std::uint32_t> rows{};  // ascending, at least one
  };

  /// Creates `path`. `shards` are ascending by digest. Throws `io`.
  FieldLayerWriter(const std::string& path, std::string_view field, Bytes prefix, std::vector<OfShard> shards);
  /// The value of the next row, without the prefix.
  void add(Bytes stored);
  /// Completes the file, which has all values, and makes it durable. Returns what manifests say of it.
  ManifestLayer finish();

 private:
  void flush();
  void end_shard();

  File file_;
  std::string field_;
  std::vector<std::byte> prefix_;
  std::vector<OfShard> shards_;
  std::uint32_t prefix_crc32c_ = 0;
  std::size_t shard_ = 0;            // of the next value
  std::vector<FieldLayerRow> rows_;  // of this shard
  std::vector<FieldLayer::OfShard> done_;
  DigestStream values_digest_;
  std::uint64_t values_end_ = 0;
  std::uint64_t num_rows_ = 0;
  std::uint64_t rows_at_ = 0;
  std::uint64_t values_at_ = 0;
  std::vector<std::byte> buffer_;  // values that are not written yet
};

}  // namespace bale
