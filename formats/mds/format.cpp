// Reads MosaicML Streaming's shards. bale does not write them: bale.to_mds() uses Streaming's own writer.
#include "bale/formats/shard/format.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/codec/compression.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/names/contained_name.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/container/reading/column_scan.hpp"
#include "bale/formats/container/reading/converted_payload.hpp"
#include "bale/formats/container/reading/file_payload.hpp"
#include "bale/formats/mds/columns.hpp"
#include "bale/formats/mds/content.hpp"
#include "bale/formats/shard/partial_scan.hpp"

namespace bale::mds {
namespace {

// index.json: the list of the shards of an MDS dataset.

constexpr const char* k_name = "index.json";
constexpr std::uint64_t k_max_bytes = std::uint64_t{1} << 30;

/// A file that the list names: its name and size.
struct ListedFile {
  std::string name;
  std::uint64_t bytes = 0;
};

ListedFile listed_file(const Json& file) {
  ListedFile listed{.name = file.text("basename"), .bytes = file.count("bytes")};
  // Streaming's merge_index() lists the shards of several directories: "0/shard.00000.mds".
  if (listed.name.empty() || contained_name(listed.name) != listed.name) {
    throw Error(ErrorCode::damaged, "lists a shard outside its directory");
  }
  return listed;
}

/// Whether the file is there. One that is there must have the listed size; for one on a server, opening compares it.
bool is_there(const std::string& directory, const ListedFile& file) {
  const std::string path = join_name(directory, file.name);
  if (remote_storage_of(directory) != nullptr) return path_exists(path);
  const auto bytes = file_size(path);
  if (bytes && *bytes != file.bytes) {
    throw Error(ErrorCode::damaged,
                fmt::format("the shard \"{}\" has {} bytes, not those it lists", printable(file.name), *bytes),
                {.hint = "copy it again"});
  }
  return bytes.has_value();
}

/// The file of a shard: the uncompressed one if it is there, else the compressed one.
std::string shard_name(const std::string& directory, const Json& shard) {
  const std::string& format = shard.text("format");
  if (format != "mds") {
    throw Error(ErrorCode::unsupported, fmt::format("lists shards of the format \"{}\"", printable(format)),
                {.hint = "write them again with MDSWriter"});
  }
  const ListedFile raw = listed_file(shard.at("raw_data"));
  const Json& zip = shard.at("zip_data");
  if (zip.is_null()) {
    if (remote_storage_of(directory) != nullptr || is_there(directory, raw)) return raw.name;
    throw Error(ErrorCode::not_found, fmt::format("the shard \"{}\" that it lists is not there", printable(raw.name)),
                {.hint = "copy it again"});
  }
  if (is_there(directory, raw)) return raw.name;
  const ListedFile compressed = listed_file(zip);
  const std::string& compression = shard.text("compression");
  if (!is_readable_compression(compression)) {
    throw Error(ErrorCode::unsupported,
                fmt::format("lists shards compressed by \"{}\", bale reads zstd", printable(compression)),
                {.hint = "decompress the shards, or write them with compression=\"zstd\""});
  }
  if (is_there(directory, compressed)) return compressed.name;
  throw Error(ErrorCode::not_found,
              fmt::format("the shard \"{}\" that it lists is not there", printable(compressed.name)),
              {.hint = "copy it again"});
}

/// Also one whose first shard is of another format of Streaming.
bool is_list(const Json& value) {
  const Json* const shards = value.find("shards");
  return value.contains("version") && shards != nullptr && shards->is_array() && shards->size() > 0 &&
         shards->as_list("shards")[0].contains("raw_data");
}

/// The list in a directory; null if it has none, or another program's file. Throws `damaged` for a list that is cut.
Json list_in(const std::string& directory) {
  const std::string path = join_name(directory, k_name);
  if (!path_exists(path)) return {};
  const std::vector<std::byte> bytes = read_file(path, k_max_bytes);
  try {
    Json list = parse_json(as_text(bytes));
    return is_list(list) ? list : Json();
  } catch (const Error& error) {
    if (as_text(bytes).find("\"column_encodings\"") == std::string_view::npos) return {};
    throw Error(ErrorCode::damaged, error.message(), {.path = path, .hint = "copy it again"});
  }
}

/// Format::list.
std::optional<std::vector<std::string>> list_directory(const std::string& directory) {
  const Json list = list_in(directory);
  if (list.is_null()) return std::nullopt;
  const std::string path = join_name(directory, k_name);
  std::vector<std::string> names;
  try {
    if (const auto version = list.count("version"); version != 2) {
      throw Error(ErrorCode::unsupported, fmt::format("a list of version {}, this bale reads 2", version));
    }
    for (const Json& shard : list.list("shards")) names.push_back(shard_name(directory, shard));
  } catch (const Error& error) {
    throw Error(error.code(), error.message(), {.path = path, .hint = error.context().hint});
  }
  return names;
}

/// Format::classes: the member "classes", which bale.to_mds() writes and Streaming ignores.
std::vector<std::string> listed_classes(const std::string& directory) {
  try {
    const Json list = list_in(directory);
    return list.contains("classes") ? list.bytes_list("classes") : std::vector<std::string>();
  } catch (const Error& error) {
    if (!is_data_error(error)) throw;
    return {};  // not those of bale.to_mds(), or a list that is cut
  }
}

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

/// Lists the samples from the header and the sizes in front of each sample.
void scan(const std::string& path, IndexBuilder& index) {
  const bool compressed = is_compressed(path);
  if (!compressed) refuse_other_compression(path);
  scan_or_salvage(index, [&] {
    const std::unique_ptr<Stream> content = open_content(path, compressed);
    const Header header = read_header(*content, path);
    Scan(*content, header, path, index).run(header.num_samples());
  });
}

/// The columns, which are read when the first value is made.
struct LateColumns {
  std::once_flag once;
  std::vector<Column> columns;
};

MadeFields made_fields(const std::string& path) {
  const auto late = std::make_shared<LateColumns>();
  return {.front_bytes = k_value_head_bytes,
          .delivery = [path, late](const Stream& content, const StoredValue& value) -> std::optional<ArrayConversion> {
            std::call_once(late->once, [&] { late->columns = read_columns(content, path); });
            for (const Column& column : late->columns) {
              auto delivery = conversion_of(column, value.front);
              if (delivery && field_of(column, delivery->extension) == value.field.name) return delivery;
            }
            return std::nullopt;
          }};
}

std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index) {
  const bool compressed = is_compressed(path);
  if (!compressed && all_are_located(index)) return std::make_unique<FilePayload>(path);
  return make_made_payload(
      path, index, [path, compressed] { return open_content(path, compressed); }, !compressed, made_fields(path));
}

constexpr std::string_view k_suffixes[] = {".mds"};

/// There is no magic number: the first sample begins after the table of offsets, and the configuration between them is
/// JSON with its members in alphabetic order.
int probe(const ProbeInput& input) {
  constexpr std::string_view k_config_start = "{\"column_encodings\"";
  if (input.head.size() >= 8) {
    const std::uint64_t table_end = 4 * (std::uint64_t{load_at<std::uint32_t>(input.head.data())} + 2);
    const std::uint64_t first = load_at<std::uint32_t>(input.head.data() + 4);
    if (first > table_end && first <= input.file_bytes && table_end < input.head.size() &&
        as_text(input.head).substr(static_cast<std::size_t>(table_end)).starts_with(k_config_start)) {
      return 100;
    }
  }
  const std::string_view compression = compression_in_name(input.path);
  if (compression.starts_with("zst") && begins_like_zstd(input.head)) return 100;
  if (!compression.empty()) return input.file_bytes != 0 ? 20 : 0;
  // With many samples the configuration is not in the head; and a damaged file is claimed by its name, so that the
  // error is of this format.
  return input.path.ends_with(k_suffixes[0]) && input.file_bytes != 0 ? 20 : 0;
}

}  // namespace
}  // namespace bale::mds

namespace bale {

extern const Format k_mds_format;
const Format k_mds_format{
    .name = "mds",
    .layouts = {},
    .probe = mds::probe,
    .scan = mds::scan,
    .open = mds::open,
    .create = nullptr,
    .scan_survives_damage = true,
    .read_suffixes = mds::k_suffixes,
    .read_summary = "MosaicML Streaming's shards (MDS version 2), plain or zstd; in Python bale.to_mds() writes them",
    .list = mds::list_directory,
    .classes = mds::listed_classes};

}  // namespace bale
