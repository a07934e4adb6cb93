// What the format (format.cpp) is made of: finding and writing the samples of a file.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "bale/formats/shard/field_rule.hpp"
#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/index_builder.hpp"

namespace bale::tfrecord {

/// Finds the samples of a file, ours or another tool's (FORMAT.md, "Example", "Foreign files").
/// Reads headers and names but no images. Throws `damaged`, with record and offset, or `unsupported`.
void scan(const std::string& path, IndexBuilder& index);

std::unique_ptr<ShardWriter> create(const WriterOptions& options);

// The features with a fixed meaning (FORMAT.md, "Example"): slim's names, and ours.

inline constexpr std::string_view k_key = "__key__";  // only in our examples
inline constexpr std::string_view k_encoded = "image/encoded";
inline constexpr std::string_view k_format = "image/format";
inline constexpr std::string_view k_filename = "image/filename";
inline constexpr std::string_view k_height = "image/height";
inline constexpr std::string_view k_width = "image/width";
inline constexpr std::string_view k_label = "image/class/label";
inline constexpr std::string_view k_label_text = "image/class/text";

/// Longest name of a feature that a scan reads.
inline constexpr std::size_t k_max_name_bytes = 4000;

/// Stored names are names of features. Those with '/' are slim's. protobuf refuses other bytes than UTF-8.
inline constexpr std::string_view k_reserved_names[] = {k_key};
inline constexpr FieldRule k_field_rule{
    .max_bytes = k_max_name_bytes, .forbidden = "/", .reserved = k_reserved_names, .is_utf8 = true};

/// Value of `image/format` for an image field: "JPEG", "PNG", ...; field_name() is the inverse.
std::string image_format(std::string_view field);

/// Name of the field for another tool's feature: lower case, '_' instead of '/'.
std::string field_of_feature(std::string_view feature);

}  // namespace bale::tfrecord
