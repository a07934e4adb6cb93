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

/// The content of the labels file of a shard: int64, k_no_label (-2^63) if a sample has none.
std::string labels_text(const std::string& shard_path, const ShardIndex& index);

/// One label per sample; empty if there is no such file. Throws `damaged` or `unsupported` if it holds anything other
/// than `count` integers.
std::vector<std::int64_t> read_labels(const std::string& shard_path, std::uint64_t count);

}  // namespace bale::npy
