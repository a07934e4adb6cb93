// Arrays of a batch that are stored as JSON: lists of numbers, such as the labels of a sample of several classes.
//
// Input may be hostile. Threads: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/loader/transform/field.hpp"

namespace bale::transform_detail {

/// Whether stored bytes begin as a list or a number of JSON, which no NumPy file does.
bool looks_like_json(Bytes stored);

/// The lengths of nested lists, by the first item of each; empty for a number. Of several members (Field::members)
/// their number, and then the shape of the first. Throws `damaged` if it is not JSON, or an object without such a
/// member.
std::vector<std::uint64_t> json_array_shape(const Field& field, Bytes stored);

/// Writes the numbers to `out` in C order, as values of the field's type; true and false are 1 and 0, and texts of
/// members are the numbers that they say. Precondition: `out` has array_row_bytes() bytes. Throws `damaged` if it is
/// not JSON, and `unsupported` for another shape than the field's, for a value that is not a number, and for a number
/// that the type does not have.
void read_json_array(const Field& field, Bytes stored, MutableBytes out);

}  // namespace bale::transform_detail
