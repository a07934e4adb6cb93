// The writers of the three layouts and what they share. Layouts: FORMAT.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/hdf5/library/h5.hpp"
#include "bale/formats/shard/format.hpp"

namespace bale::h5 {

std::unique_ptr<ShardWriter> make_blob_writer(const WriterOptions& options);
/// "array" without compression.
std::unique_ptr<ShardWriter> make_array_writer(const WriterOptions& options);
/// "vlen", and "array" with compression.
std::unique_ptr<ShardWriter> make_table_writer(const WriterOptions& options);

/// Stored names are names of datasets or groups.
inline constexpr std::string_view k_reserved_names[] = {"."};
inline constexpr FieldRule k_field_rule{
    .forbidden = std::string_view("/\0", 2), .reserved = k_reserved_names, .may_be_empty = false};

inline constexpr hsize_t k_rows_per_chunk = 1024;  // of vlen references, 16 bytes each

/// Writes `keys`, which lie end to end in `text`.
void write_keys(OutputFile& file, std::string_view text, const std::vector<std::size_t>& ends);

/// Writes `labels`, `class_names` and the root's attributes.
void write_common(OutputFile& file, const WriterOptions& options, const std::vector<std::int64_t>& labels);

}  // namespace bale::h5
