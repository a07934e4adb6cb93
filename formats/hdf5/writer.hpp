// The writers of the three layouts and what they share. Layouts: FORMAT.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/hdf5/h5.hpp"
#include "bale/formats/shard/format.hpp"

namespace bale::h5 {

std::unique_ptr<ShardWriter> make_blob_writer(const WriterOptions& options);
/// "array" without compression.
std::unique_ptr<ShardWriter> make_array_writer(const WriterOptions& options);
/// "vlen", and "array" with compression.
std::unique_ptr<ShardWriter> make_table_writer(const WriterOptions& options);

/// Throws as check_fields() does, and `invalid_argument` for a field that cannot be the name of a dataset: empty, ".",
/// or with a slash or a NUL.
void check_dataset_names(const SampleView& sample, const std::string& path);

inline constexpr hsize_t k_rows_per_chunk = 1024;  // of vlen references, 16 bytes each

/// Writes `keys`, which lie end to end in `text`.
void write_keys(OutputFile& file, std::string_view text, const std::vector<std::size_t>& ends);

/// Writes `labels`, `class_names` and the root's attributes.
void write_common(OutputFile& file, const WriterOptions& options, const std::vector<std::int64_t>& labels);

}  // namespace bale::h5
