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
/// "vlen" and "array".
std::unique_ptr<ShardWriter> make_table_writer(const WriterOptions& options);

/// Throws as check_fields() does, and `invalid_argument` for a field that cannot be the name of a dataset: empty, ".",
/// or with a slash or a NUL.
void check_dataset_names(const SampleView& sample, const std::string& path);

/// Writes `labels`, `class_names` and the root's attributes.
void write_common(OutputFile& file, const WriterOptions& options, const std::vector<std::int64_t>& labels);

}  // namespace bale::h5
