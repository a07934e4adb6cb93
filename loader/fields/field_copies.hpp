// FieldCopies: the fields of a batch in memory of their own, so that the batch's slot can return to the workers.
//
// Threads: immutable; may be read by any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

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

}  // namespace bale::loader_detail
