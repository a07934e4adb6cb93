// The three layouts' writers and what they share. Layouts: FORMAT.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/core/format.hpp"
#include "bale/formats/hdf5/h5.hpp"

namespace bale::h5 {

std::unique_ptr<ShardWriter> make_blob_writer(const WriterOptions& options);
/// "vlen" and "array".
std::unique_ptr<ShardWriter> make_table_writer(const WriterOptions& options);

/// Throws `invalid_argument` for a sample no layout can hold: a field whose name is no link name
/// (empty, ".", with a slash or a NUL), twice the same field, or one of 4 GiB.
void check_fields(const SampleView& sample, const std::string& path);

/// Throws `invalid_argument` for format options other than `known`.
void check_options(const WriterOptions& options, const std::vector<std::string_view>& known);

/// Writes `labels`, `class_names` and the root's attributes.
void write_common(OutputFile& file, const WriterOptions& options, const std::vector<std::int64_t>& labels);

}  // namespace bale::h5
