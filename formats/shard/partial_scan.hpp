// Thrown by a scan that met damage and had found samples before it.
//
// A scan may throw this instead of `damaged` if it goes from sample to sample. All samples that it found are complete,
// except the last one, or those that may lack a field.
#pragma once

#include <memory>
#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/formats/shard/index_builder.hpp"

namespace bale {

class PartialScan : public Error {
 public:
  PartialScan(const Error& damage, IndexBuilder found)
      : Error(damage), found_(std::make_shared<const IndexBuilder>(std::move(found))) {}

  const IndexBuilder& found() const { return *found_; }

 private:
  std::shared_ptr<const IndexBuilder> found_;  // shared: exceptions are copied
};

/// Runs `scan`, which fills `index` sample by sample. If it meets damage, what it found goes with the error.
template <typename Scan>
void scan_or_salvage(IndexBuilder& index, const Scan& scan) {
  try {
    scan();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::damaged) throw;
    throw PartialScan(error, std::exchange(index, {}));
  }
}

}  // namespace bale
