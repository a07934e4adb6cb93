// FieldRule: which names of fields the shards of a format can hold.
//
// A shard must be readable without its index, so it can hold a name if a scan of the shard finds the same field. Every
// format has one rule (Format::field_rule). Plans, Writers and the formats' own writers ask it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "bale/formats/shard/shard_index.hpp"

namespace bale {

struct FieldRule {
  std::size_t max_bytes = k_max_field_name_bytes;  // of the stored name
  std::string_view forbidden{};                    // characters
  std::span<const std::string_view> reserved{};    // stored names with another meaning
  bool may_be_empty = true;
  bool is_utf8 = false;          // other readers refuse other bytes
  bool is_lower_case = false;    // readers change names to lower case
  bool marks_compressed = true;  // a scan takes "X.zst" for the compressed field X
};

/// Why a shard cannot have the field; empty if it can.
std::string why_field_is_refused(const FieldRule& rule, const FieldInfo& field);

/// The same for a field of which only the stored name is known: any codec.
std::string why_stored_name_is_refused(const FieldRule& rule, std::string_view stored_name);

/// The codec with which a shard stores a field that nobody asks to compress. A field "X.zst" is stored as
/// "X.zst.zst", a zstd frame, if "X.zst" alone would be taken for a compressed field X; so is "jpg.bjp".
Codec least_codec(const FieldRule& rule, std::string_view name);

/// The field that a container calls `stored_name`: "jpg.bjp" is "jpg", as planes, and "json.zst" is "json", compressed,
/// if the container marks that. Inverse of FieldInfo::stored_name().
FieldInfo field_of_stored_name(std::string_view stored_name, bool marks_compressed = true);

}  // namespace bale
