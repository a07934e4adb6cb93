// What a scan throws that met damage and found samples before it.
//
// A scan may throw this in place of `damaged` if it goes from sample to sample: all that it found are complete but the
// last, or but those of which a field may still follow.
#pragma once

#include <memory>
#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/formats/shard/index_builder.hpp"

namespace bale {

class DamagedScan : public Error {
 public:
  DamagedScan(const Error& damage, IndexBuilder found)
      : Error(damage), found_(std::make_shared<const IndexBuilder>(std::move(found))) {}

  const IndexBuilder& found() const { return *found_; }

 private:
  std::shared_ptr<const IndexBuilder> found_;  // shared: exceptions are copied
};

}  // namespace bale
