// The field of a batch by its number or its name.
#pragma once

#include <cstddef>
#include <string_view>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/field.hpp"

namespace bale::loader_detail {

/// The number of a field. Throws `invalid_argument` if the batch has no such field.
template <typename AnyBatch>
std::size_t checked_field(const AnyBatch& batch, std::size_t field) {
  if (field < batch.num_fields()) return field;
  throw Error(ErrorCode::invalid_argument, fmt::format("field {} of a batch with {}", field, batch.num_fields()));
}

/// Throws `invalid_argument` if there is no field of this name.
template <typename AnyBatch>
BatchField field_named(const AnyBatch& batch, std::string_view name) {
  for (std::size_t i = 0; i < batch.num_fields(); ++i) {
    if (const BatchField found = batch.field(i); found.field->name == name) return found;
  }
  throw Error(ErrorCode::invalid_argument, fmt::format("batches have no field \"{}\"", printable(name)),
              {.hint = "name it in LoaderOptions::fields"});
}

}  // namespace bale::loader_detail
