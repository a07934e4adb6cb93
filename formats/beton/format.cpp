// Reads .beton files. bale does not write them.
#include "bale/formats/shard/format.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/beton/columns.hpp"
#include "bale/formats/container/reading/column_scan.hpp"
#include "bale/formats/container/reading/file_payload.hpp"
#include "bale/formats/container/streams/stream.hpp"
#include "bale/formats/shard/partial_scan.hpp"

namespace bale::beton {
namespace {

// The parts of a .beton file around its data: the header and the descriptors of the fields at its front, the allocation
// table at its end.
//
// Source: ffcv's types.py (HeaderType, FieldDescType, ALLOC_TABLE_TYPE), reader.py and memory_allocator.py.

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

// The allocation table at the end of a .beton file: which bytes belong to which sample. Only it has the sizes of JPEGs.
//
// Source: ffcv's types.py (ALLOC_TABLE_TYPE) and memory_allocator.py.
//
// Memory: 24 bytes per value. Threads: immutable.

class Allocations {
 public:
  /// Throws `damaged` if one is of no sample, does not lie in the data, or shares bytes with another.
  Allocations(const Stream& content, const Header& header, const std::string& path);

  /// Size of the sample's allocation that begins at `offset`, never 0; nullopt if there is none.
  std::optional<std::uint64_t> size_of(std::uint64_t sample, std::uint64_t offset) const;

 private:
  struct Allocation {
    std::uint64_t sample;
    std::uint64_t offset;
    std::uint64_t bytes;
  };

  std::vector<Allocation> sorted_;  // by offset, without empty ones
};

constexpr std::size_t k_header_bytes = 24;
constexpr std::uint16_t k_version = 2;
constexpr std::uint64_t k_table_at = 16;  // where the header has the position of the allocation table

struct Front {
  std::uint16_t version;
  std::uint16_t num_fields;
  std::uint32_t page_bytes;
  std::uint64_t num_samples;
  std::uint64_t table;

  std::uint64_t records() const { return k_header_bytes + std::uint64_t{num_fields} * k_descriptor_bytes; }
};
static_assert(sizeof(Front) == k_header_bytes);

[[noreturn]] void fail(const std::string& path, std::uint64_t offset, std::string_view what) {
  throw Error(ErrorCode::damaged, what, {.path = path, .offset = offset, .hint = "copy it again"});
}

Front read_front(const Stream& content, const std::string& path) {
  if (content.size() < k_header_bytes) fail(path, 0, "shorter than the header of a .beton file");
  std::array<std::byte, k_header_bytes> bytes{};
  content.read_exact(0, bytes);
  const auto front = load_at<Front>(bytes.data());
  if (front.version != k_version) {
    throw Error(ErrorCode::unsupported,
                fmt::format("version {} of FFCV's format, this bale reads {}", front.version, k_version),
                {.path = path, .offset = 0, .hint = "write it again with ffcv 1.0, or pack what it was written from"});
  }
  if (front.num_fields == 0) fail(path, 2, "has no fields");
  if (!std::has_single_bit(front.page_bytes)) {
    fail(path, 4, fmt::format("pages of {} bytes, which is not a power of 2", front.page_bytes));
  }
  if (front.records() > content.size()) fail(path, 2, "the descriptors of the fields go beyond the end of the file");
  if (front.table == 0) {
    throw Error(ErrorCode::damaged, "has no allocation table: its writer did not finish",
                {.path = path, .offset = k_table_at, .hint = "write it again"});
  }
  if (front.table > content.size()) {
    fail(path, k_table_at,
         fmt::format("the allocation table is at {}, the file has {} bytes", front.table, content.size()));
  }
  return front;
}

/// Whether a file of this size that begins with `head` looks like one. Never throws.
bool looks_like_beton(Bytes head, std::uint64_t file_bytes) {
  if (head.size() < k_header_bytes + k_descriptor_bytes) return false;
  const auto front = load_at<Front>(head.data());
  return front.version == k_version && front.num_fields != 0 && std::has_single_bit(front.page_bytes) &&
         front.records() <= front.table && front.table <= file_bytes &&
         is_plausible_descriptor(head.subspan(k_header_bytes, k_descriptor_bytes));
}

/// `path` is for messages. Throws `damaged` if a part goes beyond the file, `unsupported` for another version and for
/// types of fields that bale does not know. Memory is bounded by the file's size and by 65,535 descriptors.
Header read_header(const Stream& content, const std::string& path) {
  const Front front = read_front(content, path);
  std::vector<std::byte> descriptors(static_cast<std::size_t>(front.records() - k_header_bytes));
  content.read_exact(k_header_bytes, descriptors);
  Header header{.num_samples = front.num_samples, .records = front.records(), .table = front.table};
  try {
    Columns columns = parse_columns(descriptors);
    header.record_bytes = columns.record_bytes;
    header.columns = std::move(columns.all);
  } catch (const Error& error) {
    throw Error(error.code(), error.message(), {.path = path, .offset = k_header_bytes, .hint = error.context().hint});
  }
  if (header.table < header.records || header.num_samples > (header.table - header.records) / header.record_bytes) {
    fail(path, 8, fmt::format("{} samples, whose metadata goes beyond the allocation table", header.num_samples));
  }
  return header;
}

Allocations::Allocations(const Stream& content, const Header& header, const std::string& path) {
  constexpr std::size_t k_row = sizeof(Allocation);
  constexpr std::size_t k_rows_at_once = 4096;
  const auto fail = [&](std::uint64_t offset, std::string_view what) {
    throw Error(ErrorCode::damaged, fmt::format("allocation table: {}", what), {.path = path, .offset = offset});
  };
  const std::uint64_t end = content.size();
  if ((end - header.table) % k_row != 0) fail(header.table, "ends inside a row, so the file was cut");
  std::vector<std::byte> rows(k_row * k_rows_at_once);
  for (std::uint64_t at = header.table; at < end;) {
    rows.resize(static_cast<std::size_t>(std::min<std::uint64_t>(rows.size(), end - at)));
    content.read_exact(at, rows);
    for (std::size_t i = 0; i < rows.size(); i += k_row) {
      const auto row = load_at<Allocation>(rows.data() + i);
      if (row.bytes == 0) continue;  // ffcv gives these any offset
      if (row.sample >= header.num_samples) fail(at + i, fmt::format("sample {} does not exist", row.sample));
      if (row.offset < header.data() || row.offset > header.table || row.bytes > header.table - row.offset) {
        fail(at + i, fmt::format("{} bytes at {} are not in the data", row.bytes, row.offset));
      }
      sorted_.push_back(row);
    }
    at += rows.size();
  }
  std::sort(sorted_.begin(), sorted_.end(),
            [](const Allocation& a, const Allocation& b) { return a.offset < b.offset; });
  for (std::size_t i = 1; i < sorted_.size(); ++i) {
    const Allocation& before = sorted_[i - 1];
    if (before.bytes > sorted_[i].offset - before.offset) {
      fail(sorted_[i].offset, fmt::format("samples {} and {} share bytes", before.sample, sorted_[i].sample));
    }
  }
}

std::optional<std::uint64_t> Allocations::size_of(std::uint64_t sample, std::uint64_t offset) const {
  const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), offset,
                                      [](const Allocation& a, std::uint64_t wanted) { return a.offset < wanted; });
  if (found == sorted_.end() || found->offset != offset || found->sample != sample) return std::nullopt;
  return found->bytes;
}

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
  return lower_case(input.path).ends_with(k_suffixes[0]) && input.file_bytes != 0 ? 20 : 0;
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
