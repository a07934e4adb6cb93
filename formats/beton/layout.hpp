// The parts of a .beton file around its data: the header and the descriptors of the fields at its front, the allocation
// table at its end.
//
// Source: ffcv's types.py (HeaderType, FieldDescType, ALLOC_TABLE_TYPE), reader.py and memory_allocator.py.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bale/formats/beton/columns.hpp"
#include "bale/formats/container/streams/stream.hpp"

namespace bale::beton {

/// The parts of the file: header, descriptors, one record of metadata per sample, data in pages, allocation table.
struct Header {
  std::uint64_t num_samples = 0;
  std::uint64_t records = 0;       // where the records begin
  std::uint32_t record_bytes = 0;  // of each
  std::uint64_t table = 0;         // where the allocation table begins, and the data ends
  std::vector<Column> columns{};

  /// The end of the records: no value lies before it.
  std::uint64_t data() const { return records + num_samples * record_bytes; }
};

/// Whether a file of this size that begins with `head` looks like one. Never throws.
bool looks_like_beton(Bytes head, std::uint64_t file_bytes);

/// `path` is for messages. Throws `damaged` if a part goes beyond the file, `unsupported` for another version and for
/// types of fields that bale does not know. Memory is bounded by the file's size and by 65,535 descriptors.
Header read_header(const Stream& content, const std::string& path);

// The allocation table at the end of a .beton file: which bytes belong to which sample. Only it has the sizes of JPEGs.
//
// Source: ffcv's types.py (ALLOC_TABLE_TYPE) and memory_allocator.py.
//
// Memory: 24 bytes per value. Threads: immutable.

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
