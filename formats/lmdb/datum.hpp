// Caffe's Datum: a protobuf message with an image, encoded or raw, and a label.
#pragma once

#include <cstdint>
#include <optional>

#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/format.hpp"

namespace bale::lmdb {

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
