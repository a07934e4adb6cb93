// Writing tar shards: create() of the format.
#pragma once

#include <memory>
#include <string_view>

#include "bale/formats/shard/format.hpp"

namespace bale::tar {

inline constexpr std::string_view k_plain_layout = "plain";
inline constexpr std::string_view k_gzip_layout = "gz";
inline constexpr std::string_view k_zstd_layout = "zst";

/// Stored names are extensions of file names. Without an index, a compressed field is the field "X.zst".
inline constexpr FieldRule k_field_rule{
    .forbidden = std::string_view("/\0", 2), .is_lower_case = true, .marks_compressed = false};

std::unique_ptr<ShardWriter> create(const WriterOptions& options);

}  // namespace bale::tar
