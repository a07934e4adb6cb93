#include "bale/formats/litdata/scan.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/authoring/file_window.hpp"
#include "bale/formats/authoring/scanned_fields.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/litdata/chunk.hpp"
#include "bale/formats/litdata/config.hpp"
#include "bale/formats/shard/damaged_scan.hpp"
#include "bale/formats/shard/key.hpp"

namespace bale::litdata {
namespace {

struct Value {
  const Column* column = nullptr;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
};

class Scan {
 public:
  Scan(const Chunk& chunk, const ChunkConfig& config, const std::string& path, IndexBuilder& index)
      : window_(*chunk.content), chunk_(chunk), config_(config), path_(path), index_(index) {
    const std::string name = base_name(path);
    stem_ = name.substr(0, name.find('.'));
  }

  void run() {
    for (number_ = 0; number_ < chunk_.num_samples(); ++number_) {
      split_sample();
      sample_ = index_.add_sample(keys_.take(own_key(), number_));
      for (const Value& value : values_) add_value(value);
    }
  }

 private:
  [[noreturn]] void fail(ErrorCode code, std::uint64_t offset, std::string_view what) const {
    throw Error(code, fmt::format("sample {}: {}", number_, what), {.path = path_, .offset = offset});
  }

  Bytes bytes_at(std::uint64_t offset, std::size_t length) {
    const Bytes found = window_.from(offset, length);
    if (found.size() < length) fail(ErrorCode::damaged, offset, "the chunk ends too early");
    return found.first(length);
  }

  /// The sizes of all values, then the values.
  void split_sample() {
    const std::uint64_t begin = chunk_.offsets[number_];
    const std::uint64_t end = chunk_.offsets[number_ + 1];
    const std::uint64_t sizes = sizeof(std::uint32_t) * config_.columns.size();
    if (end - begin < sizes) fail(ErrorCode::damaged, begin, "ends inside its sizes");
    values_.clear();
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

  /// Without a value that names it: the chunk and the number in it, because each chunk counts from 0.
  std::string own_key() {
    for (const Value& value : values_) {
      if (value.column->role != Role::key && value.column->role != Role::file_name) continue;
      if (value.length > StreamWindow::k_bytes) {
        fail(ErrorCode::unsupported, value.offset, "has a key of more than 4 KiB");
      }
      std::string text(as_text(bytes_at(value.offset, value.length)));
      return value.column->role == Role::key ? text : key_of_file(text);
    }
    return fmt::format("{}/{:08}", stem_, number_);
  }

  void set_field(const Value& value, std::string_view extension, std::uint64_t length, bool located) {
    set_scanned_field(index_, sample_,
                      {.name = field_of_column(value.column->stem, value.column->role, extension), .located = located},
                      value.offset, length, {.path = path_, .offset = value.offset});
  }

  void add_value(const Value& value) {
    const Column& column = *value.column;
    if (column.role == Role::key || column.role == Role::file_name) return;
    if (column.role == Role::label) return set_label(value);
    switch (column.kind) {
      case ValueKind::text:
        return set_field(value, "txt", value.length, true);
      case ValueKind::bytes:
      case ValueKind::image:
        return set_field(value, image_extension(value), value.length, true);
      case ValueKind::opaque:
        return set_opaque(value);
      default:
        return set_made(value);
    }
  }

  /// By the first bytes, else by what the format says: "file:mp4".
  std::string image_extension(const Value& value) {
    constexpr std::size_t k_head = 512;
    const auto head = static_cast<std::size_t>(std::min<std::uint64_t>(value.length, k_head));
    const ImageKind kind = probe_image(bytes_at(value.offset, head)).kind;
    if (kind != ImageKind::unknown) return std::string(image_field_name(kind));
    if (value.column->kind == ValueKind::image) return value.column->format == "jpeg" ? "jpg" : "bin";
    const std::size_t colon = value.column->format.find(':');
    return colon == std::string::npos ? std::string() : field_name(value.column->format.substr(colon + 1));
  }

  void set_opaque(const Value& value) {
    const std::string& format = value.column->format;
    set_field(value, format == "pickle" ? "pkl" : "bin", value.length, true);
    index_.notices().add(fmt::format("sample {}: {}", number_, value.column->stem),
                         fmt::format("delivered as the bytes of LitData's {}", printable(format.substr(0, 64))));
  }

  /// A number, an array or a raw image.
  void set_made(const Value& value) {
    const Column& column = *value.column;
    const auto head = static_cast<std::size_t>(std::min<std::uint64_t>(value.length, k_value_front_bytes));
    const auto delivery = delivery_of(column, bytes_at(value.offset, head), value.length);
    if (!delivery && column.kind != ValueKind::number && column.kind != ValueKind::vector) return set_opaque(value);
    if (!delivery || delivery->skip + delivery->tail_bytes != value.length) {
      fail(ErrorCode::damaged, value.offset,
           fmt::format("value \"{}\" has {} bytes, which are no {}", printable(column.stem), value.length,
                       printable(column.format.substr(0, 64))));
    }
    set_field(value, delivery->extension, delivery->bytes(), false);
  }

  void set_label(const Value& value) {
    if (value.length != sizeof(std::int64_t)) fail(ErrorCode::damaged, value.offset, "has a label that is no integer");
    const auto label = load_at<std::int64_t>(bytes_at(value.offset, sizeof(std::int64_t)).data());
    if (label == k_no_label) fail(ErrorCode::unsupported, value.offset, "has a label beyond 64-bit integers");
    index_.set_label(sample_, label);
  }

  StreamWindow window_;
  const Chunk& chunk_;
  const ChunkConfig& config_;
  const std::string& path_;
  IndexBuilder& index_;
  ForeignKeys keys_;
  std::string stem_;
  std::vector<Value> values_;
  std::uint64_t number_ = 0;
  std::uint64_t sample_ = 0;
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
    Scan(chunk, config, path, index).run();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::damaged) throw;
    throw DamagedScan(error, std::exchange(index, {}));
  }
}

}  // namespace bale::litdata
