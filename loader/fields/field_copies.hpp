// FieldCopies: the fields of a batch in memory of their own, so that the batch's slot can return to the workers.
//
// Threads: immutable; may be read by any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/field.hpp"

namespace bale::loader_detail {

class FieldCopies {
 public:
  FieldCopies() = default;
  explicit FieldCopies(std::span<const BatchField> fields);

  std::size_t size() const { return copies_.size(); }
  /// Lifetime: borrows from this. Precondition: field < size().
  BatchField column(std::size_t field) const;

 private:
  struct Copy {
    explicit Copy(const BatchField& from);

    Field field;
    std::size_t num_bytes;
    std::unique_ptr<std::byte[]> data;
    std::vector<std::int64_t> offsets;
    std::vector<std::uint8_t> present;
  };
  std::vector<Copy> copies_{};
};

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
