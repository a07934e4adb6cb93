#include "bale/loader/fields/field_copies.hpp"

#include <cstring>

namespace bale::loader_detail {

FieldCopies::Copy::Copy(const BatchField& from)
    : field(*from.field),
      num_bytes(from.data.size()),
      data(std::make_unique_for_overwrite<std::byte[]>(num_bytes)),
      offsets(from.offsets.begin(), from.offsets.end()),
      present(from.present.begin(), from.present.end()) {
  if (num_bytes > 0) std::memcpy(data.get(), from.data.data(), num_bytes);
}

FieldCopies::FieldCopies(std::span<const BatchField> fields) {
  copies_.reserve(fields.size());
  for (const BatchField& field : fields) copies_.emplace_back(field);
}

BatchField FieldCopies::column(std::size_t field) const {
  const Copy& copy = copies_[field];
  return {.field = &copy.field,
          .data = {copy.data.get(), copy.num_bytes},
          .offsets = copy.offsets,
          .present = copy.present};
}

}  // namespace bale::loader_detail
