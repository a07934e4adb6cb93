// How a file name becomes a sample key and a field name (WebDataset's rule).
//
// Source: webdataset `base_plus_ext`, `^((?:.*/|)[^.]+)[.]([^/]*)$`: the key keeps its directories, the
// extension is everything after the base name's first dot, lower-cased.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

namespace bale {

struct KeyAndExtension {
  std::string_view key;        // borrows from the name
  std::string_view extension;  // borrows from the name; original case
};

/// Splits a member name; nullopt where WebDataset would skip it (no dot, or a base name that opens with one).
std::optional<KeyAndExtension> split_member_name(std::string_view name);

/// Whether WebDataset treats the member as metadata and skips it: `^__[^/]*__($|/)`.
bool is_reserved_member(std::string_view name);

/// Field name of an extension: lower case, `jpeg` spelled `jpg`.
std::string field_name(std::string_view extension);

/// A key that splits back whole: '.' and '%' in the base name of `stem` become "%2E" and "%25", so that
/// "a.b.jpg" can neither be split at the wrong dot nor collide with another file. A base name that
/// opens with "__" and ends with "__" at the top level has its first '_' written "%5F".
std::string encode_key(std::string_view stem);

/// The stem that encode_key() made `key` of; `key` itself if it made none so.
std::string decode_key(std::string_view key);

/// Whether a file can be named by the key without encoding it: no dot in its base name, and no name that WebDataset
/// skips.
bool names_a_file(std::string_view key);

/// The key of a file that another tool named: its path without the last extension, encoded; empty where its base
/// name is.
std::string key_of_file(std::string_view path);

/// Keys for the samples of a container whose own names need not be there, nor be unique.
class ForeignKeys {
 public:
  /// `wanted` where it is free, else with the sample's number appended; its number alone where `wanted` is empty.
  std::string take(std::string wanted, std::uint64_t number);

 private:
  std::unordered_set<std::string> used_;
};

/// The field of an image that is decoded already: height x width x 3 bytes behind a NumPy header (array_header.hpp).
/// Other arrays have this name too, so it stands for a sample's image only where nothing else does.
inline constexpr std::string_view k_array_field = "npy";

/// Whether the field holds an image, judged by its name ("jpg", "png", "webp", ...).
bool is_image_field(std::string_view field);

}  // namespace bale
