// What a field says if it holds one value: conditions compare it, and it can be a label.
//
// Threads: the functions may be called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bale/formats/base/bytes.hpp"

namespace bale {

/// The text of a field's value: of an .npy file with one element as JSON writes it; of JSON (`field` is "json" or ends
/// with ".json") that is a text, a number or a truth value, or a list of one; of other bytes all without the end of
/// their line. nullopt if an array or JSON holds none, or more than one.
std::optional<std::string> single_value(std::string_view field, Bytes stored);

/// parse_label() of the bytes, or of that value. k_no_label if neither is a whole number.
std::int64_t field_label(std::string_view field, Bytes stored);

}  // namespace bale
