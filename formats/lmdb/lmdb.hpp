// What the format (format.cpp) is made of: finding the samples of an LMDB file, and writing one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "bale/formats/base/file.hpp"
#include "bale/formats/lmdb/btree_walk.hpp"
#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/index_builder.hpp"

namespace bale::lmdb {

/// Fills `index` from a file that has an entry `__bale__` with the value `header`.
void scan_ours(const BTree& tree, std::string_view header, IndexBuilder& index);
/// Fills `index` from any other file, by the shape of its keys and values (FORMAT.md, "Foreign files").
void scan_foreign(const BTree& tree, IndexBuilder& index);

/// Writes an LMDB file by liblmdb, in our key scheme (key_scheme.hpp).
/// Throws as Format::create does.
std::unique_ptr<ShardWriter> create_writer(const WriterOptions& options);

// Caffe's Datum: a protobuf message with an image, encoded or raw, and a label.

struct Datum {
  FileRange data{};  // the `data` field's bytes, in the file
  std::uint32_t channels = 0;
  std::uint32_t height = 0;
  std::uint32_t width = 0;
  std::optional<std::int64_t> label{};
  bool encoded = false;
};

/// Reads all fields except the image bytes. nullopt if the value is not a Datum with data.
std::optional<Datum> parse_datum(const File& file, const FileRange& value);

}  // namespace bale::lmdb
