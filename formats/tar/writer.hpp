// Writing tar shards: create() of the format.
#pragma once

#include <memory>
#include <string_view>

#include "bale/formats/shard/format.hpp"

namespace bale::tar {

inline constexpr std::string_view k_plain_layout = "plain";
inline constexpr std::string_view k_gzip_layout = "gz";
inline constexpr std::string_view k_zstd_layout = "zst";

std::unique_ptr<ShardWriter> create(const WriterOptions& options);

}  // namespace bale::tar
