// What the formats' scans share: giving a sample its fields.
#pragma once

#include <cstdint>
#include <string_view>

#include "bale/formats/core/error.hpp"
#include "bale/formats/core/index_builder.hpp"

namespace bale {

/// The field that a container of ours calls `stored_name`: "json.zst" is "json", compressed.
FieldInfo field_of_stored_name(std::string_view stored_name);

/// Gives sample `sample` of `index` a field, declaring it where it is new. Throws `damaged` where the sample has it
/// already, `unsupported` where the index has no room for it; `where` says where the field was found.
void set_scanned_field(IndexBuilder& index, std::uint64_t sample, const FieldInfo& field, std::uint64_t offset,
                       std::uint64_t length, const ErrorContext& where);

}  // namespace bale
