// The front of a .beton file: the header and the descriptors of the fields.
//
// Source: ffcv's types.py (HeaderType, FieldDescType) and reader.py.
#pragma once

#include <cstdint>
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

}  // namespace bale::beton
