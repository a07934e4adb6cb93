// Shared by the formats' scans: gives a sample its fields.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bale/formats/base/error.hpp"
#include "bale/formats/shard/index_builder.hpp"

namespace bale {

/// The id of a field of `index`, which is declared if it is new. Throws `unsupported`, naming `path` and `key`, if the
/// index has no room for it.
std::uint32_t declare_field(IndexBuilder& index, const FieldInfo& field, const std::string& path,
                            std::string_view key = {});

/// Gives sample `sample` of `index` a field, declared if it is new. Throws `damaged` if the sample already has it,
/// `unsupported` if the field has 4 GiB or more or the index has no room for it. `where` says where it was found.
void set_scanned_field(IndexBuilder& index, std::uint64_t sample, const FieldInfo& field, std::uint64_t offset,
                       std::uint64_t length, const ErrorContext& where);

}  // namespace bale
