// What the format (format.cpp) is made of: images, labels and writing of arrays.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/npy/image_array.hpp"
#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/index_builder.hpp"
#include "bale/formats/shard/shard_index.hpp"

namespace bale::npy {

// Labels of a shard: an array of integers next to it, X.labels.npy next to X.npy.

inline constexpr std::string_view k_suffix = ".npy";
inline constexpr std::string_view k_labels_suffix = ".labels.npy";

/// The content of the labels file of a shard: int64, k_no_label (-2^63) if a sample has none.
std::string labels_text(const std::string& shard_path, const ShardIndex& index);

/// One label per sample; empty if there is no such file. Throws `damaged` or `unsupported` if it holds anything other
/// than `count` integers.
std::vector<std::int64_t> read_labels(const std::string& shard_path, std::uint64_t count);

/// Finds the samples of an array of images, ours or another tool's (FORMAT.md).
void scan(const std::string& path, IndexBuilder& index);

/// Sets the image of every sample of `index`. Throws `damaged` if the numbers of images and samples differ.
void set_image_extents(const std::string& path, const ImageArray& array, IndexBuilder& index);

/// Returns images as they are in the file, each after a header of its own.
std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index);

std::unique_ptr<ShardWriter> create(const WriterOptions& options);

}  // namespace bale::npy
