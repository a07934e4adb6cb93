#include "bale/formats/mds/mds.hpp"

#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/container/reading/column_scan.hpp"
#include "bale/formats/mds/columns.hpp"
#include "bale/formats/mds/compression.hpp"
#include "bale/formats/mds/header.hpp"
#include "bale/formats/shard/partial_scan.hpp"

namespace bale::mds {
namespace {

class Scan final : public ColumnScan<Column> {
 public:
  Scan(const Stream& content, const Header& header, const std::string& path, IndexBuilder& index)
      : ColumnScan(content, path, index, "file"), header_(header) {}

 private:
  /// The sizes that are not fixed by their columns, then all values.
  void split_sample() override {
    const std::uint64_t begin = header_.offsets[number_];
    const std::uint64_t end = header_.offsets[number_ + 1];
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

  void add_value(const Value& value) override {
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

  /// By the first bytes. Bytes that are not an image are called like their column.
  std::string image_field(const Value& value) {
    const ImageKind kind = image_kind_of(value);
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
    const auto delivery = conversion_of(*value.column, front_of(value, k_value_head_bytes));
    if (!delivery && value.column->kind == ValueKind::pixels) return set_opaque(value, "pil");
    if (!delivery || delivery->skip + delivery->tail_bytes != value.length) {
      fail(ErrorCode::damaged, value.offset,
           fmt::format("column \"{}\" has {} bytes, which are not a valid {}", printable(value.column->name),
                       value.length, printable(value.column->encoding.substr(0, 64))));
    }
    set_field(value, field_of(*value.column, delivery->extension), delivery->head.size() + delivery->tail_bytes, false);
  }

  void set_label(const Value& value) {
    const Column& column = *value.column;
    if (column.kind == ValueKind::text) {
      constexpr std::uint32_t k_max_digits = 64;
      const std::int64_t label =
          value.length > k_max_digits ? k_no_label : parse_label(bytes_at(value.offset, value.length));
      if (label == k_no_label) fail(ErrorCode::damaged, value.offset, "has a label that is not an integer");
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

  const Header& header_;
};

}  // namespace

void scan(const std::string& path, IndexBuilder& index) {
  const bool compressed = is_compressed(path);
  if (!compressed) refuse_other_compression(path);
  try {
    const std::unique_ptr<Stream> content = open_content(path, compressed);
    const Header header = read_header(*content, path);
    Scan(*content, header, path, index).run(header.num_samples());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::damaged) throw;
    throw PartialScan(error, std::exchange(index, {}));
  }
}

}  // namespace bale::mds
