// What the format (format.cpp) is made of: our key scheme, the samples of other files, and writing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "bale/formats/lmdb/btree_walk.hpp"
#include "bale/formats/shard/field_rule.hpp"
#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/index_builder.hpp"

namespace bale::lmdb {

// Our key scheme inside an LMDB file (FORMAT.md, "Keys"), shared by writer and scan.

inline constexpr std::string_view k_header_key = "__bale__";
inline constexpr std::string_view k_length_key = "__len__";
inline constexpr std::string_view k_sample_key_suffix = "__key__";
inline constexpr std::string_view k_primary_suffix = "__primary__";
inline constexpr std::uint64_t k_max_samples = 100'000'000;  // eight digits
inline constexpr std::size_t k_digits = 8;
inline constexpr std::uint64_t k_max_key_bytes = 64 * 1024;

inline constexpr std::string_view k_reserved_names[] = {k_sample_key_suffix, k_primary_suffix};
inline constexpr FieldRule k_field_rule{.max_bytes = 511 - k_digits - 1,  // liblmdb's longest key, less "00000000."
                                        .reserved = k_reserved_names};

inline std::string number_key(std::uint64_t sample) { return fmt::format("{:08}", sample); }

/// Value of `__bale__`. `primary` must be a plain name (is_plain_field_name).
inline std::string header_text(std::string_view primary) {
  return fmt::format("{{\"version\":1,\"primary\":\"{}\"}}", primary);
}

/// Whether header_text can hold a field name without escapes.
inline bool is_plain_field_name(std::string_view name) {
  return !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._-") == std::string_view::npos;
}

/// Fills `index` from a file without an entry `__bale__`, by the shape of its keys and values (FORMAT.md, "Foreign
/// files").
void scan_foreign(const BTree& tree, IndexBuilder& index);

/// Writes an LMDB file by liblmdb, in our key scheme. Throws as Format::create does.
std::unique_ptr<ShardWriter> create_writer(const WriterOptions& options);

}  // namespace bale::lmdb
