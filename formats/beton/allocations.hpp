// The allocation table at the end of a .beton file: which bytes belong to which sample. Only it has the sizes of JPEGs.
//
// Source: ffcv's types.py (ALLOC_TABLE_TYPE) and memory_allocator.py.
//
// Memory: 24 bytes per value. Threads: immutable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bale/formats/beton/header.hpp"
#include "bale/formats/container/streams/stream.hpp"

namespace bale::beton {

class Allocations {
 public:
  /// Throws `damaged` if one is of no sample, does not lie in the data, or shares bytes with another.
  Allocations(const Stream& content, const Header& header, const std::string& path);

  /// Size of the sample's allocation that begins at `offset`, never 0; nullopt if there is none.
  std::optional<std::uint64_t> size_of(std::uint64_t sample, std::uint64_t offset) const;

 private:
  struct Allocation {
    std::uint64_t sample;
    std::uint64_t offset;
    std::uint64_t bytes;
  };

  std::vector<Allocation> sorted_;  // by offset, without empty ones
};

}  // namespace bale::beton
