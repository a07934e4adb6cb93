#include "bale/formats/litdata/litdata.hpp"

#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/container/reading/column_scan.hpp"
#include "bale/formats/litdata/chunk.hpp"
#include "bale/formats/litdata/config.hpp"
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
             fmt::format("value \"{}\" has {} bytes and goes beyond its end", printable(column.stem), length));
      }
      values_.push_back({.column = &column, .offset = at, .length = length});
      at += length;
    }
    if (at != end) fail(ErrorCode::damaged, at, "has bytes after its last value");
  }

  /// Each chunk counts from 0, so its name is part of the key.
  std::string other_key() const override { return fmt::format("{}/{:08}", stem_, number_); }

  void set_field_of(const Value& value, std::string_view extension, std::uint64_t length, bool located) {
    set_field(value, field_of_column(value.column->stem, value.column->role, extension), length, located);
  }

  void add_value(const Value& value) override {
    const Column& column = *value.column;
    if (column.role == Role::key || column.role == Role::file_name) return;
    if (column.role == Role::label) return set_label(value);
    switch (column.kind) {
      case ValueKind::text:
        return set_field_of(value, "txt", value.length, true);
      case ValueKind::bytes:
      case ValueKind::image:
        return set_field_of(value, image_extension(value), value.length, true);
      case ValueKind::opaque:
        return set_opaque(value);
      default:
        return set_made(value);
    }
  }

  /// By the first bytes, else by what the format says: "file:mp4".
  std::string image_extension(const Value& value) {
    const ImageKind kind = image_kind_of(value);
    if (kind != ImageKind::unknown) return std::string(image_field_name(kind));
    if (value.column->kind == ValueKind::image) return value.column->format == "jpeg" ? "jpg" : "bin";
    const std::size_t colon = value.column->format.find(':');
    return colon == std::string::npos ? std::string() : field_name(value.column->format.substr(colon + 1));
  }

  void set_opaque(const Value& value) {
    const std::string& format = value.column->format;
    set_field_of(value, format == "pickle" ? "pkl" : "bin", value.length, true);
    index_.notices().add(fmt::format("sample {}: {}", number_, value.column->stem),
                         fmt::format("delivered as the bytes of LitData's {}", printable(format.substr(0, 64))));
  }

  /// A number, an array or a raw image.
  void set_made(const Value& value) {
    const Column& column = *value.column;
    const auto delivery = conversion_of(column, front_of(value, k_value_front_bytes), value.length);
    if (!delivery && column.kind != ValueKind::number && column.kind != ValueKind::vector) return set_opaque(value);
    if (!delivery || delivery->skip + delivery->tail_bytes != value.length) {
      fail(ErrorCode::damaged, value.offset,
           fmt::format("value \"{}\" has {} bytes, which are not a valid {}", printable(column.stem), value.length,
                       printable(column.format.substr(0, 64))));
    }
    set_field_of(value, delivery->extension, delivery->bytes(), false);
  }

  void set_label(const Value& value) {
    if (value.length != sizeof(std::int64_t))
      fail(ErrorCode::damaged, value.offset, "has a label that is not an integer");
    const auto label = load_at<std::int64_t>(bytes_at(value.offset, sizeof(std::int64_t)).data());
    if (label == k_no_label) fail(ErrorCode::unsupported, value.offset, "has a label beyond 64-bit integers");
    index_.set_label(sample_, label);
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
  try {
    const Chunk chunk = open_chunk(path, packing);
    check_against_list(chunk, config, path, packing);
    Scan(chunk, config, path, index).run(chunk.num_samples());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::damaged) throw;
    throw PartialScan(error, std::exchange(index, {}));
  }
}

}  // namespace bale::litdata
