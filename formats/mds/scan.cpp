#include "bale/formats/mds/mds.hpp"

#include <memory>

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
    switch (column.kind) {
      case ValueKind::text:
        return set_stored(value, "txt");
      case ValueKind::json:
        return set_stored(value, "json");
      case ValueKind::bytes:
        return set_stored(value, image_extension(value, ""));
      case ValueKind::image:
        return set_stored(value, image_extension(value, column.encoding == "png" ? "png" : "jpg"));
      case ValueKind::opaque:
        return set_opaque(value, column.encoding == "pkl" ? "pkl" : "bin", k_encoding);
      default:
        const auto delivery = conversion_of(column, front_of(value, k_value_head_bytes));
        if (!delivery && column.kind == ValueKind::pixels) return set_opaque(value, "pil", k_encoding);
        return set_made(value, delivery);
    }
  }

  /// Also an integer that is written as text.
  void add_label(const Value& value) override {
    if (value.column->kind != ValueKind::text) return ColumnScan::add_label(value);
    constexpr std::uint32_t k_max_digits = 64;
    const std::int64_t label =
        value.length > k_max_digits ? k_no_label : parse_label(bytes_at(value.offset, value.length));
    if (label == k_no_label) fail(ErrorCode::damaged, value.offset, "has a label that is not an integer");
    index_.set_label(sample_, label);
  }

  static constexpr std::string_view k_encoding = "MDS's encoding";

  const Header& header_;
};

}  // namespace

void scan(const std::string& path, IndexBuilder& index) {
  const bool compressed = is_compressed(path);
  if (!compressed) refuse_other_compression(path);
  scan_or_salvage(index, [&] {
    const std::unique_ptr<Stream> content = open_content(path, compressed);
    const Header header = read_header(*content, path);
    Scan(*content, header, path, index).run(header.num_samples());
  });
}

}  // namespace bale::mds
