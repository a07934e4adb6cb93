// Labels of a shard: an array of integers beside it, X.labels.npy beside X.npy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/shard/shard_index.hpp"

namespace bale::npy {

inline constexpr std::string_view k_suffix = ".npy";
inline constexpr std::string_view k_labels_suffix = ".labels.npy";

/// The file's content for a shard: int64, k_no_label (-2^63) where a sample has none.
std::string labels_text(const std::string& shard_path, const ShardIndex& index);

/// One label a sample; none at all where there is no such file. Throws `damaged` or `unsupported` where it holds
/// anything but `count` integers.
std::vector<std::int64_t> read_labels(const std::string& shard_path, std::uint64_t count);

}  // namespace bale::npy
