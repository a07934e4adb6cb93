// The index file on disk: its structs, and the offsets of its sections. Format: INDEX.md. Internal to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "bale/formats/shard/shard_index.hpp"

namespace bale {

inline constexpr char k_index_magic[8] = {'B', 'A', 'L', 'E', 'I', 'D', 'X', '\0'};
inline constexpr std::uint32_t k_index_version_1 = 1;
inline constexpr std::uint32_t k_index_version = 2;
inline constexpr std::uint32_t k_index_flag_checksums = 1U << 0;
inline constexpr std::uint32_t k_index_flag_digest = 1U << 1;
inline constexpr std::uint32_t k_index_flag_ends_digest = 1U << 2;

/// The same in every version, so that a reader can distinguish a newer file from a damaged one.
struct IndexHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t flags;
  std::uint64_t num_samples;
  std::uint32_t num_fields;
  std::uint32_t reserved;
  std::uint64_t shard_bytes;
  std::uint64_t key_bytes;
  std::uint64_t file_bytes;
  std::uint8_t digest[16];
  std::uint32_t body_crc32c;
  std::uint32_t header_crc32c;  // of all bytes before it
};
static_assert(sizeof(IndexHeader) == 80);

/// Follows the header in version 2.
struct IndexExtension {
  std::uint64_t num_extents;
  std::uint64_t name_bytes;
  std::uint8_t ends_digest[16];
};
static_assert(sizeof(IndexExtension) == 32);

struct FieldRowVersion1 {
  static constexpr std::size_t k_name_bytes = 48;
  char name[k_name_bytes];
  std::uint8_t codec;
  std::uint8_t located;
  std::uint8_t reserved[6];
  std::uint64_t stored_bytes;
};
static_assert(sizeof(FieldRowVersion1) == 64);

struct FieldRow {
  std::uint64_t stored_bytes;
  std::uint64_t num_samples;
  std::uint32_t name_end;
  std::uint8_t codec;
  std::uint8_t located;
  std::uint8_t reserved[2];
};
static_assert(sizeof(FieldRow) == 24);
static_assert(sizeof(Extent) == 16);

struct IndexSampleRow {
  std::int64_t label;
  std::uint32_t width;
  std::uint32_t height;
};
static_assert(sizeof(IndexSampleRow) == 16);

struct IndexKeyRow {
  std::uint32_t hash;
  std::uint32_t sample;
};
static_assert(sizeof(IndexKeyRow) == 8);

using RowEnd = std::uint64_t;
using FieldId = std::uint16_t;
using KeyEnd = std::uint64_t;

struct IndexCounts {
  std::uint64_t num_samples = 0;
  std::uint64_t num_fields = 0;
  std::uint64_t num_extents = 0;
  std::uint64_t name_bytes = 0;
  std::uint64_t key_bytes = 0;

  /// Whether every sample has every field. If so, row ends and field ids are not stored.
  bool is_dense() const { return num_extents == num_samples * num_fields; }
};

/// Byte offsets of the sections, in order.
struct IndexSections {
  std::uint64_t fields, names, row_ends, field_ids, extents, samples, conditions, key_ends, key_order, keys, end;
};

/// nullopt if a count exceeds what an index can have.
std::optional<IndexSections> lay_out_index(std::uint32_t version, const IndexCounts& counts);

}  // namespace bale
