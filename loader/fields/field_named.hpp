// field_named(): the field of a batch by its name.
#pragma once

#include <cstddef>
#include <string_view>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/field.hpp"

namespace bale::loader_detail {

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
