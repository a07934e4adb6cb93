// Reads .beton files. bale does not write them.
#include "bale/formats/shard/format.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/beton/columns.hpp"
#include "bale/formats/beton/layout.hpp"
#include "bale/formats/container/reading/column_scan.hpp"
#include "bale/formats/container/reading/file_payload.hpp"
#include "bale/formats/shard/partial_scan.hpp"

namespace bale::beton {
namespace {

/// A value is where its metadata is, until place() has followed it. So an error about the metadata names its offset.
class Scan final : public ColumnScan<Column> {
 public:
  Scan(const Stream& content, const Header& header, const std::string& path, IndexBuilder& index)
      : ColumnScan(content, path, index, "file"),
        header_(header),
        allocations_(content, header, path),
        records_(content) {
    for (const Column& column : header.columns) {
      if (column.kind != ValueKind::opaque) continue;
      index.notices().add(column.name, "delivered as bytes: array files do not have its type");
    }
  }

 private:
  using Place = ColumnScan<Column>::Value;

  void split_sample() override {
    const std::uint64_t record = header_.records + number_ * header_.record_bytes;
    for (const Column& column : header_.columns) {
      values_.push_back({.column = &column, .offset = record + column.place, .length = metadata_bytes(column.kind)});
    }
  }

  Bytes metadata_of(const Place& at) {
    const Bytes metadata = records_.from(at.offset, at.length);
    if (metadata.size() < at.length) fail(ErrorCode::damaged, at.offset, "the file ends too early");
    return metadata.first(at.length);
  }

  void add_label(const Place& at) override { set_label(at, metadata_of(at)); }

  void add_value(const Place& at) override {
    const Column& column = *at.column;
    const beton::Value value = value_of(column, metadata_of(at), at.offset);
    if (column.kind == ValueKind::image) check_image(at, value);
    const Place stored = place(at, value);
    if (const auto delivery = conversion_of(column, value)) {
      return set(at, delivery->extension, delivery->bytes(), false);
    }
    switch (column.kind) {
      case ValueKind::image:
        set_size(stored);
        return set(stored, "jpg", stored.length, true);
      case ValueKind::json:
        if (stored.length == 0) fail(ErrorCode::damaged, at.offset, about(at, "is JSON without its end"));
        return set(stored, "json", stored.length - 1, true);  // less the NUL
      case ValueKind::bytes:
        return set(stored, image_extension(stored, ""), stored.length, true);
      default:
        return set(stored, "bin", stored.length, true);
    }
  }

  static std::string about(const Place& at, std::string_view what) {
    return fmt::format("field \"{}\" {}", at.column->name, what);
  }

  void check_image(const Place& at, const beton::Value& value) {
    if (value.mode > k_raw) {
      constexpr unsigned k_png = 2;  // of forks of FFCV
      fail(value.mode == k_png ? ErrorCode::unsupported : ErrorCode::damaged, at.offset,
           about(at, fmt::format("is an image of mode {}", value.mode)));
    }
    if (value.width == 0 || value.height == 0) {
      fail(ErrorCode::damaged, at.offset, about(at, fmt::format("has {}x{} pixels", value.width, value.height)));
    }
    if (at.column->role == Role::image && value.mode == k_raw)
      index_.set_dimensions(sample_, value.width, value.height);
  }

  /// The header of an encoded image says its size, not the record.
  void set_size(const Place& stored) {
    if (stored.column->role != Role::image) return;
    const ImageHeader header = probe_image(front_of(stored, k_head));
    index_.set_dimensions(sample_, header.width, header.height);
  }

  /// Where the bytes lie. Each is in the allocation table, which is checked, so none lies outside of the file.
  Place place(const Place& at, const beton::Value& value) {
    const Column& column = *at.column;
    if (column.kind == ValueKind::number || value.bytes == std::uint64_t{0}) return {&column, at.offset, 0};
    if (column.kind == ValueKind::array && !value.bytes) {
      fail(ErrorCode::unsupported, at.offset, about(at, "is an array of 4 GiB or more"));
    }
    const std::optional<std::uint64_t> bytes = allocations_.size_of(number_, value.offset);
    if (!bytes) {
      fail(ErrorCode::damaged, at.offset,
           about(at, fmt::format("is at {}, where the allocation table has nothing", value.offset)));
    }
    if (value.bytes && *value.bytes != *bytes) {
      fail(ErrorCode::damaged, at.offset,
           about(at, fmt::format("has {} bytes, the allocation table says {}", *value.bytes, *bytes)));
    }
    if (*bytes >> 32 != 0) fail(ErrorCode::unsupported, at.offset, about(at, "has 4 GiB or more"));
    return {&column, value.offset, static_cast<std::uint32_t>(*bytes)};
  }

  void set(const Place& at, std::string_view extension, std::uint64_t length, bool located) {
    const std::string name = field_of(*at.column, extension);
    const auto known = index_.stored_field_id(name);
    if (known && index_.fields()[*known].located != located) {
      fail(ErrorCode::unsupported, at.offset,
           about(at, fmt::format("maps to {}, a name already in use", printable(name))));
    }
    set_field(at, extension, length, located);
  }

  const Header& header_;
  const Allocations allocations_;
  StreamWindow records_;
};

/// Lists the samples from their metadata and the allocation table.
void scan(const std::string& path, IndexBuilder& index) {
  scan_or_salvage(index, [&] {
    const std::unique_ptr<Stream> content = open_plain_stream(path);
    const Header header = read_header(*content, path);
    Scan(*content, header, path, index).run(header.num_samples);
  });
}

/// A field that is made has the position of its value's metadata as its offset.
class BetonPayload final : public FilePayload {
 public:
  BetonPayload(const std::string& path, const ShardIndex& index) : FilePayload(path), index_(index) {}

  void read(std::uint64_t sample, std::uint32_t field, const Extent& extent, MutableBytes out) const override {
    if (index_.fields()[field].located) return FilePayload::read(sample, field, extent, out);
    const Made made = made_at(extent);
    const Bytes head = as_bytes(made.head);
    std::copy(head.begin(), head.end(), out.begin());
    file_.read_exact(made.range.offset, out.subspan(head.size()));
  }

  /// Of a value that is damaged nullopt: read() says what is wrong.
  std::optional<FileRange> locate(std::uint64_t, std::uint32_t field, const Extent& extent) const override {
    if (index_.fields()[field].located) return FileRange{extent.offset, extent.length};
    try {
      return made_at(extent).range;
    } catch (const Error&) {
      return std::nullopt;
    }
  }

 private:
  struct Made {
    std::string head;
    FileRange range;
  };

  /// The index may be of another file: everything is checked.
  Made made_at(const Extent& extent) const {
    std::call_once(once_, [&] { header_ = read_header(*open_plain_stream(file_.path()), file_.path()); });
    const auto fail = [&] {
      throw Error(ErrorCode::damaged, "the shard says something else than its index",
                  {.path = file_.path(), .offset = extent.offset});
    };
    if (extent.offset < header_.records || extent.offset >= header_.data()) fail();
    const std::uint64_t place = (extent.offset - header_.records) % header_.record_bytes;
    const auto column = std::lower_bound(header_.columns.begin(), header_.columns.end(), place,
                                         [](const Column& a, std::uint64_t wanted) { return a.place < wanted; });
    if (column == header_.columns.end() || column->place != place) fail();
    std::array<std::byte, k_max_metadata_bytes> bytes{};
    const MutableBytes metadata = MutableBytes(bytes).first(metadata_bytes(column->kind));
    file_.read_exact(extent.offset, metadata);
    const Value value = value_of(*column, metadata, extent.offset);
    auto delivery = conversion_of(*column, value);
    if (!delivery || delivery->bytes() != extent.length) fail();
    const std::uint64_t begin = column->kind == ValueKind::number || *value.bytes == 0 ? extent.offset : value.offset;
    if (begin > header_.table || *value.bytes > header_.table - begin) fail();
    return {std::move(delivery->head), {begin, *value.bytes}};
  }

  const ShardIndex& index_;
  // Read when the first value is made: who reads only JPEGs does not need it.
  mutable std::once_flag once_;
  mutable Header header_;
};

std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index) {
  return std::make_unique<BetonPayload>(path, index);
}

constexpr std::string_view k_suffixes[] = {".beton"};

/// There is no magic number: a header and a first field as FFCV writes them. A damaged file is claimed by its name, so
/// that the error is of this format.
int probe(const ProbeInput& input) {
  if (looks_like_beton(input.head, input.file_bytes)) return 90;
  return input.path.ends_with(k_suffixes[0]) && input.file_bytes != 0 ? 20 : 0;
}

}  // namespace
}  // namespace bale::beton

namespace bale {

extern const Format k_beton_format;
const Format k_beton_format{.name = "beton",
                            .layouts = {},
                            .probe = beton::probe,
                            .scan = beton::scan,
                            .open = beton::open,
                            .create = nullptr,
                            .scan_survives_damage = true,
                            .read_suffixes = beton::k_suffixes,
                            .read_summary = "FFCV's files (version 2), images as JPEGs or pixels"};

}  // namespace bale
