#include "bale/formats/mds/columns.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json_bytes.hpp"
#include "bale/formats/shard/key.hpp"

namespace bale::mds {
namespace {

constexpr std::pair<std::string_view, std::string_view> k_types[] = {
    {"uint8", "|u1"}, {"int8", "|i1"},    {"uint16", "<u2"}, {"int16", "<i2"}, {"float16", "<f2"}, {"uint32", "<u4"},
    {"int32", "<i4"}, {"float32", "<f4"}, {"uint64", "<u8"}, {"int64", "<i8"}, {"float64", "<f8"}};

constexpr std::array<std::string_view, 2> k_key_names{"__key__", "key"};
constexpr std::array<std::string_view, 4> k_file_names{"path", "file_name", "filename", "file"};
constexpr std::array<std::string_view, 5> k_label_names{"label", "class", "target", "y", "cls"};
constexpr std::array<std::string_view, 8> k_image_names{"image", "img", "picture", "jpg", "jpeg", "png", "x", "data"};

[[noreturn]] void fail(std::string_view what) { throw Error(ErrorCode::damaged, what); }

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// "ndarray", "ndarray:uint8", "ndarray:uint8:28,28": what it leaves out is in front of each value.
void parse_array(Column& column) {
  constexpr std::size_t k_max_sides = 63;  // the writer's limit
  const std::vector<std::string_view> parts = split(column.encoding, ':');
  if (parts.size() > 3) fail(fmt::format("column \"{}\" has a malformed type", printable(column.name)));
  if (parts.size() > 1) {
    column.type = number_type(parts[1]);
    if (column.type.empty()) fail(fmt::format("column \"{}\" has an unknown type", printable(column.name)));
  }
  if (parts.size() < 3) return;
  for (const std::string_view part : split(parts[2], ',')) {
    std::uint32_t side = 0;
    const auto [end, problem] = std::from_chars(part.data(), part.data() + part.size(), side);
    if (problem != std::errc{} || end != part.data() + part.size() || side == 0 || column.shape.size() == k_max_sides) {
      fail(fmt::format("column \"{}\" has a malformed shape", printable(column.name)));
    }
    column.shape.push_back(side);
  }
}

void parse_encoding(Column& column) {
  const std::string_view encoding = column.encoding;
  if (encoding == "bytes") {
    column.kind = ValueKind::bytes;
  } else if (encoding == "str" || encoding == "str_int" || encoding == "str_float" || encoding == "str_decimal") {
    column.kind = ValueKind::text;
  } else if (encoding == "json") {
    column.kind = ValueKind::json;
  } else if (encoding == "jpeg" || encoding == "png") {
    column.kind = ValueKind::image;
  } else if (encoding == "pil") {
    column.kind = ValueKind::pixels;
  } else if (encoding == "ndarray" || encoding.starts_with("ndarray:")) {
    column.kind = ValueKind::array;
    parse_array(column);
  } else {
    column.type = number_type(encoding == "int" ? "int64" : encoding);
    if (column.type.empty()) return;
    column.kind = ValueKind::number;
    if (column.size != type_bytes(column.type)) {
      fail(fmt::format("column \"{}\" has values of {} bytes", printable(column.name), column.size));
    }
  }
}

/// Gives the role to the first column that has one of the names, the first name first, and fits.
template <typename Fits>
bool assign(std::vector<Column>& columns, std::span<const std::string_view> names, Role role, Fits fits) {
  for (const std::string_view name : names) {
    for (Column& column : columns) {
      if (column.role == Role::field && column.stem == name && fits(column)) {
        column.role = role;
        return true;
      }
    }
  }
  return false;
}

/// The image: a column that says that it has images, one with an image's name first; else bytes with such a name, or
/// the first bytes of all.
void assign_image(std::vector<Column>& columns) {
  const auto says_so = [](const Column& column) {
    return column.kind == ValueKind::image || column.kind == ValueKind::pixels;
  };
  if (assign(columns, k_image_names, Role::image, says_so)) return;
  if (const auto first = std::find_if(columns.begin(), columns.end(), says_so); first != columns.end()) {
    first->role = Role::image;
    return;
  }
  const auto has_bytes = [](const Column& column) { return column.kind == ValueKind::bytes; };
  if (assign(columns, k_image_names, Role::image, has_bytes)) return;
  const auto is_array = [](const Column& column) { return column.kind == ValueKind::array; };
  if (assign(columns, k_image_names, Role::image, is_array)) return;
  const auto first = std::find_if(columns.begin(), columns.end(), has_bytes);
  if (first != columns.end()) first->role = Role::image;
}

}  // namespace

std::string number_type(std::string_view name) {
  for (const auto& [known, type] : k_types) {
    if (known == name) return std::string(type);
  }
  return {};
}

std::uint32_t type_bytes(std::string_view type) { return static_cast<std::uint32_t>(type.back() - '0'); }

std::vector<Column> parse_columns(const nlohmann::json& config) {
  if (const auto version = count_from_json(json_member(config, "version")); version != 2) {
    throw Error(ErrorCode::unsupported, fmt::format("MDS version {}, this bale reads 2", version));
  }
  const std::vector<std::string> names = texts_from_json(json_member(config, "column_names"), "column_names");
  const std::vector<std::string> encodings =
      texts_from_json(json_member(config, "column_encodings"), "column_encodings");
  const nlohmann::json& sizes = json_member(config, "column_sizes");
  if (!sizes.is_array() || sizes.size() != names.size() || encodings.size() != names.size()) {
    fail("column names, encodings and sizes differ in number");
  }
  std::vector<Column> columns;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Column column{.name = names[i], .encoding = encodings[i], .stem = field_name(names[i])};
    std::replace(column.stem.begin(), column.stem.end(), '/', '_');
    if (column.stem.empty()) column.stem = "bin";
    const std::uint64_t size = sizes[i].is_null() ? 0 : count_from_json(sizes[i]);
    if (size > std::numeric_limits<std::uint32_t>::max()) fail("a column size of 4 GiB or more");
    column.size = static_cast<std::uint32_t>(size);
    parse_encoding(column);
    columns.push_back(std::move(column));
  }
  const auto is_text = [](const Column& column) { return column.encoding == "str"; };
  if (!assign(columns, k_key_names, Role::key, is_text)) assign(columns, k_file_names, Role::file_name, is_text);
  assign(columns, k_label_names, Role::label, [](const Column& column) {
    const bool is_integer = column.kind == ValueKind::number && (column.type[1] == 'i' || column.type[1] == 'u');
    return is_integer || column.encoding == "str_int";
  });
  assign_image(columns);
  return columns;
}

std::string field_of(const Column& column, std::string_view extension) {
  if (extension.empty() || column.stem == extension) return column.stem;
  if (column.role == Role::image) return std::string(extension);
  std::string name = fmt::format("{}.{}", column.stem, extension);
  return column.stem.ends_with(std::string_view(name).substr(column.stem.size())) ? column.stem : name;
}

}  // namespace bale::mds
