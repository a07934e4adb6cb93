// Arrays of a batch: one stored NumPy file or JSON list per row, all of one type and shape.
#pragma once

#include <cstdint>

#include "bale/formats/base/bytes.hpp"
#include "bale/loader/transform/field.hpp"

namespace bale::transform_detail {

/// Bytes of one row. Throws `unsupported` if it is more than memory can have. Precondition: type and shape are known.
std::uint64_t array_row_bytes(const Field& field);

/// Fills in the type and the shape that `field` lacks, from a stored array. Throws `damaged` if it is none, and
/// `unsupported` for a type that batches do not carry, `invalid_argument` for JSON if the field has no type.
void complete_array_field(Field& field, Bytes stored);

/// Writes the values of a stored array to `out` in C order. Precondition: `out` has array_row_bytes() bytes. Throws
/// `damaged` if it is not an array or cut short, and `unsupported` if its type or shape is another than the field's.
/// Numbers in JSON have the field's type if it has them.
void read_array_field(const Field& field, Bytes stored, MutableBytes out);

}  // namespace bale::transform_detail
