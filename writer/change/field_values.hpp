// FieldValues: where the values of a field come from: a table, an array with a list of keys, or a folder.
//
// For one thread. Memory: the keys; of a table also the values.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bale/formats/base/bytes.hpp"
#include "bale/writer/change.hpp"
#include "bale/writer/change/keyed_rows.hpp"

namespace bale {

class FieldValues {
 public:
  /// Throws `invalid_argument` and `damaged` with file and line, `unsupported`, `not_found` and `io`.
  static std::unique_ptr<FieldValues> open(const FieldChoice& choice);
  virtual ~FieldValues() = default;

  /// What every value begins with.
  Bytes prefix() const { return as_bytes(prefix_); }
  KeyedRows& rows() { return rows_; }
  /// The rest of the value with this number. Borrows from this object until the next call.
  virtual Bytes read(std::int64_t number) = 0;
  /// The file that has it.
  virtual std::string path_of(std::int64_t number) const = 0;

 protected:
  std::string prefix_;
  KeyedRows rows_;
};

}  // namespace bale
