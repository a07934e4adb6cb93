// Keys: how a file name becomes a sample key and a field name, by WebDataset's rule.
//
// Source: webdataset, `base_plus_ext`, `^((?:.*/|)[^.]+)[.]([^/]*)$`. The key keeps its directories. The extension is
// everything after the first dot of the base name, in lower case.
//
// Threads: the functions may be called from any thread; a ForeignKeys is used by one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include "bale/formats/base/names/known_names.hpp"

namespace bale {

struct KeyAndExtension {
  std::string_view key;        // borrows from the name
  std::string_view extension;  // borrows from the name; original case
};

/// Splits the name of an archive member. nullopt if WebDataset skips it: no dot, or a base name that starts with one.
std::optional<KeyAndExtension> split_member_name(std::string_view name);

/// Whether WebDataset treats the member as metadata and skips it: `^__[^/]*__($|/)`.
bool is_reserved_member(std::string_view name);

/// Field name of an extension: lower case, "jpg" for "jpeg".
std::string field_name(std::string_view extension);

/// Encodes `stem` as a key without dots in its base name: '.' and '%' become "%2E" and "%25". So "a.b.jpg" is neither
/// split at the wrong dot nor confused with another file. If the first component starts and ends with "__", which
/// WebDataset reserves, its first '_' becomes "%5F".
std::string encode_key(std::string_view stem);

/// The key for sample `number` of a shard of another program that has no keys: "chunk-0-1/00000007". The shard's name
/// is taken up to its first dot.
std::string made_key(std::string_view shard_name, std::uint64_t number);

/// Inverse of encode_key(). Returns `key` itself if encode_key() cannot have made it.
std::string decode_key(std::string_view key);

/// Whether the key can be a file name without encoding: no dot in its base name, and not reserved by WebDataset.
bool names_a_file(std::string_view key);

/// The key of a file: its path without the last extension, encoded. Empty if the base name is empty.
std::string key_of_file(std::string_view path);

/// Makes unique keys for the samples of a container whose own names may be missing or repeated.
class ForeignKeys {
 public:
  /// Returns `wanted` if no earlier sample has it, else `wanted` with the sample's number appended. If `wanted` is
  /// empty, the number alone.
  std::string take(std::string wanted, std::uint64_t number);

 private:
  std::unordered_set<std::string> used_;
};

/// Whether the field's name is that of an image: of torchvision's IMG_EXTENSIONS, or of another kind that formats/image
/// decodes. The one list of such names.
bool is_image_field(std::string_view field);
/// That list.
std::span<const std::string_view> image_fields();
/// Whether a field holds a JPEG by its name: "jpg", "mask.jpg".
bool is_jpeg_field(std::string_view field);

/// Whether a file is an image by its name: by its last extension (is_image_field()). ".jpg" is one, as for ImageFolder.
bool is_image_name(std::string_view name);

/// The extensions of files that are images by their names, for messages: ".jpg, .jpeg, ...".
std::string image_extensions();

}  // namespace bale
