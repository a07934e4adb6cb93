#include "bale/formats/mds/scan.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/authoring/file_window.hpp"
#include "bale/formats/authoring/scanned_fields.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/mds/compression.hpp"
#include "bale/formats/mds/header.hpp"
#include "bale/formats/mds/value.hpp"
#include "bale/formats/shard/damaged_scan.hpp"
#include "bale/formats/shard/key.hpp"

namespace bale::mds {
namespace {

struct Value {
  const Column* column = nullptr;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
};

class Scan {
 public:
  Scan(const Stream& content, const std::string& path, IndexBuilder& index)
      : window_(content), path_(path), index_(index), header_(read_header(content, path)) {}

  void run() {
    for (number_ = 0; number_ < header_.num_samples(); ++number_) {
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
    if (found.size() < length) fail(ErrorCode::damaged, offset, "the file ends too early");
    return found.first(length);
  }

  /// The sizes that are not fixed by their columns, then all values.
  void split_sample() {
    const std::uint64_t begin = header_.offsets[number_];
    const std::uint64_t end = header_.offsets[number_ + 1];
    values_.clear();
    std::uint64_t at = begin;
    for (const Column& column : header_.columns) {
      std::uint32_t length = column.size;
      if (length == 0) {
        if (end - at < sizeof length) fail(ErrorCode::damaged, at, "ends inside its sizes");
        length = load_at<std::uint32_t>(bytes_at(at, sizeof length).data());
        at += sizeof length;
      }
      values_.push_back({.column = &column, .length = length});
    }
    for (Value& value : values_) {
      value.offset = at;
      if (value.length > end - at) {
        fail(ErrorCode::damaged, at,
             fmt::format("column \"{}\" has {} bytes and goes beyond its end", printable(value.column->name),
                         value.length));
      }
      at += value.length;
    }
    if (at != end) fail(ErrorCode::damaged, at, "has bytes after its last value");
  }

  std::string own_key() {
    for (const Value& value : values_) {
      if (value.column->role != Role::key && value.column->role != Role::file_name) continue;
      if (value.length > StreamWindow::k_bytes)
        fail(ErrorCode::unsupported, value.offset, "has a key of more than 4 KiB");
      std::string text(as_text(bytes_at(value.offset, value.length)));
      return value.column->role == Role::key ? text : key_of_file(text);
    }
    return {};
  }

  void set_field(const Value& value, std::string name, std::uint64_t length, bool located) {
    set_scanned_field(index_, sample_, {.name = std::move(name), .located = located}, value.offset, length,
                      {.path = path_, .offset = value.offset});
  }

  void add_value(const Value& value) {
    const Column& column = *value.column;
    if (column.role == Role::key || column.role == Role::file_name) return;
    if (column.role == Role::label) return set_label(value);
    switch (column.kind) {
      case ValueKind::text:
        return set_field(value, field_of(column, "txt"), value.length, true);
      case ValueKind::json:
        return set_field(value, field_of(column, "json"), value.length, true);
      case ValueKind::bytes:
      case ValueKind::image:
        return set_field(value, image_field(value), value.length, true);
      case ValueKind::opaque:
        return set_opaque(value, column.encoding == "pkl" ? "pkl" : "bin");
      default:
        return set_made(value);
    }
  }

  /// By the first bytes. Bytes that are no image are called like their column.
  std::string image_field(const Value& value) {
    constexpr std::size_t k_head = 512;
    const auto head = static_cast<std::size_t>(std::min<std::uint64_t>(value.length, k_head));
    const ImageKind kind = probe_image(bytes_at(value.offset, head)).kind;
    if (kind != ImageKind::unknown) return field_of(*value.column, image_field_name(kind));
    if (value.column->kind == ValueKind::bytes) return field_of(*value.column, "");
    return field_of(*value.column, value.column->encoding == "png" ? "png" : "jpg");
  }

  void set_opaque(const Value& value, std::string_view extension) {
    set_field(value, field_of(*value.column, extension), value.length, true);
    const std::string& encoding = value.column->encoding;
    index_.notices().add(fmt::format("sample {}: {}", number_, value.column->name),
                         fmt::format("delivered as the bytes of MDS's encoding {}", printable(encoding.substr(0, 64))));
  }

  /// A number, an array or a raw image.
  void set_made(const Value& value) {
    const auto head = static_cast<std::size_t>(std::min<std::uint64_t>(value.length, k_value_head_bytes));
    const auto delivery = delivery_of(*value.column, bytes_at(value.offset, head));
    if (!delivery && value.column->kind == ValueKind::pixels) return set_opaque(value, "pil");
    if (!delivery || delivery->skip + delivery->tail_bytes != value.length) {
      fail(ErrorCode::damaged, value.offset,
           fmt::format("column \"{}\" has {} bytes, which are no {}", printable(value.column->name), value.length,
                       printable(value.column->encoding.substr(0, 64))));
    }
    set_field(value, field_of(*value.column, delivery->extension), delivery->head.size() + delivery->tail_bytes, false);
  }

  void set_label(const Value& value) {
    const Column& column = *value.column;
    if (column.kind == ValueKind::text) {
      constexpr std::uint32_t k_max_digits = 64;
      const std::int64_t label =
          value.length > k_max_digits ? k_no_label : parse_label(bytes_at(value.offset, value.length));
      if (label == k_no_label) fail(ErrorCode::damaged, value.offset, "has a label that is no integer");
      return index_.set_label(sample_, label);
    }
    const Bytes bytes = bytes_at(value.offset, value.length);
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) bits |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
    const bool is_signed = column.type[1] == 'i';
    const unsigned unused = 64 - 8 * static_cast<unsigned>(bytes.size());
    const auto label =
        is_signed ? static_cast<std::int64_t>(bits << unused) >> unused : static_cast<std::int64_t>(bits);
    if ((!is_signed && label < 0) || label == k_no_label) {
      fail(ErrorCode::unsupported, value.offset, "has a label beyond 64-bit integers");
    }
    index_.set_label(sample_, label);
  }

  StreamWindow window_;
  const std::string& path_;
  IndexBuilder& index_;
  const Header header_;
  ForeignKeys keys_;
  std::vector<Value> values_;
  std::uint64_t number_ = 0;
  std::uint64_t sample_ = 0;
};

}  // namespace

void scan(const std::string& path, IndexBuilder& index) {
  const bool compressed = is_compressed(path);
  if (!compressed) refuse_other_compression(path);
  try {
    const std::unique_ptr<Stream> content = open_content(path, compressed);
    Scan(*content, path, index).run();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::damaged) throw;
    throw DamagedScan(error, std::exchange(index, {}));
  }
}

}  // namespace bale::mds
