#include "bale/formats/litdata/litdata.hpp"

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/container/reading/column_scan.hpp"
#include "bale/formats/litdata/chunk.hpp"
#include "bale/formats/litdata/config.hpp"
#include "bale/formats/shard/key.hpp"
#include "bale/formats/shard/partial_scan.hpp"

namespace bale::litdata {
namespace {

class Scan final : public ColumnScan<Column> {
 public:
  Scan(const Chunk& chunk, const ChunkConfig& config, const std::string& path, IndexBuilder& index)
      : ColumnScan(*chunk.content, path, index, "chunk"), chunk_(chunk), config_(config) {
    const std::string name = base_name(path);
    stem_ = name.substr(0, name.find('.'));
  }

 private:
  /// The sizes of all values, then the values.
  void split_sample() override {
    const std::uint64_t begin = chunk_.offsets[number_];
    const std::uint64_t end = chunk_.offsets[number_ + 1];
    const std::uint64_t sizes = sizeof(std::uint32_t) * config_.columns.size();
    if (end - begin < sizes) fail(ErrorCode::damaged, begin, "ends inside its sizes");
    std::uint64_t at = begin + sizes;
    for (std::size_t i = 0; i < config_.columns.size(); ++i) {
      const auto length = load_at<std::uint32_t>(bytes_at(begin + sizeof(std::uint32_t) * i, 4).data());
      const Column& column = config_.columns[i];
      if (length > end - at) {
        fail(ErrorCode::damaged, at,
             fmt::format("column \"{}\" has {} bytes and goes beyond its end", printable(column.name), length));
      }
      values_.push_back({.column = &column, .offset = at, .length = length});
      at += length;
    }
    if (at != end) fail(ErrorCode::damaged, at, "has bytes after its last value");
  }

  /// Each chunk counts from 0, so its name is part of the key.
  std::string other_key() const override { return fmt::format("{}/{:08}", stem_, number_); }

  void add_value(const Value& value) override {
    const Column& column = *value.column;
    switch (column.kind) {
      case ValueKind::text:
        return set_stored(value, "txt");
      case ValueKind::bytes:
        return set_stored(value, image_extension(value, argument_of(column)));
      case ValueKind::image:
        return set_stored(value, image_extension(value, column.encoding == "jpeg" ? "jpg" : "bin"));
      case ValueKind::opaque:
        return set_opaque(value);
      default:
        const auto delivery = conversion_of(column, front_of(value, k_value_front_bytes), value.length);
        const bool has_fixed_type = column.kind == ValueKind::number || column.kind == ValueKind::vector;
        return delivery || has_fixed_type ? set_made(value, delivery) : set_opaque(value);
    }
  }

  /// What the format says of the file: "file:mp4".
  static std::string argument_of(const Column& column) {
    const std::size_t colon = column.encoding.find(':');
    return colon == std::string::npos ? std::string() : field_name(column.encoding.substr(colon + 1));
  }

  void set_opaque(const Value& value) {
    ColumnScan::set_opaque(value, value.column->encoding == "pickle" ? "pkl" : "bin", "LitData's");
  }

  const Chunk& chunk_;
  const ChunkConfig& config_;
  std::string stem_;
};

void check_against_list(const Chunk& chunk, const ChunkConfig& config, const std::string& path, Packing packing) {
  const std::uint64_t bytes =
      packing == Packing::plain || packing == Packing::whole ? chunk.content->size() : File::open_read(path).size();
  if (chunk.num_samples() == config.listed.samples && bytes == config.listed.bytes) return;
  throw Error(ErrorCode::damaged,
              fmt::format("{} samples in {} bytes, index.json says {} in {}", chunk.num_samples(), bytes,
                          config.listed.samples, config.listed.bytes),
              {.path = path, .hint = "copy it again"});
}

}  // namespace

void scan(const std::string& path, IndexBuilder& index) {
  const ChunkConfig config = read_chunk_config(path);
  const Packing packing = packing_of(path, config.compresses_samples);
  scan_or_salvage(index, [&] {
    const Chunk chunk = open_chunk(path, packing);
    check_against_list(chunk, config, path, packing);
    Scan(chunk, config, path, index).run(chunk.num_samples());
  });
}

}  // namespace bale::litdata
