#include "bale/formats/mds/columns.hpp"

#include <charconv>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/container/reading/converted_payload.hpp"
#include "bale/formats/shard/sample.hpp"

namespace bale::mds {
namespace {

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
    column.type = parts[1] == "bool" ? "" : number_type(parts[1]);
    if (column.type.empty()) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("column \"{}\" has arrays of type {}", printable(column.name), printable(parts[1])),
                  {.hint = "write the column again with a plain type of NumPy"});
    }
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
    column.type = encoding == "bool" ? "" : number_type(encoding == "int" ? "int64" : encoding);
    if (column.type.empty()) return;
    column.kind = ValueKind::number;
    if (column.size != type_bytes(column.type)) {
      fail(fmt::format("column \"{}\" has values of {} bytes", printable(column.name), column.size));
    }
  }
}

/// The extensions that set_stored(), set_made() and set_opaque() may get for the column.
std::vector<std::string_view> endings_of(const Column& column) {
  switch (column.kind) {
    case ValueKind::text:
      return {"txt"};
    case ValueKind::json:
      return {"json"};
    case ValueKind::bytes:
      return endings_of_bytes();
    case ValueKind::image:
      if (column.role == Role::image) return {image_fields().begin(), image_fields().end()};
      return {column.encoding == "png" ? "png" : "jpg"};
    case ValueKind::opaque:
      return {column.encoding == "pkl" ? "pkl" : "bin"};
    case ValueKind::pixels:
      return {k_array_field, "pgm", "pil"};
    default:
      return {k_array_field};
  }
}

}  // namespace

std::vector<Column> parse_columns(const Json& config) {
  if (const auto version = config.count("version"); version != 2) {
    throw Error(ErrorCode::unsupported, fmt::format("MDS version {}, this bale reads 2", version));
  }
  const std::vector<std::string> names = config.texts("column_names");
  const std::vector<std::string> encodings = config.texts("column_encodings");
  const std::vector<Json>& sizes = config.list("column_sizes");
  if (sizes.size() != names.size() || encodings.size() != names.size()) {
    fail("column names, encodings and sizes differ in number");
  }
  std::vector<Column> columns;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Column column;
    column.name = names[i];
    column.encoding = encodings[i];
    const std::uint64_t size = sizes[i].is_null() ? 0 : sizes[i].as_count("column_sizes");
    if (size > std::numeric_limits<std::uint32_t>::max()) fail("a column size of 4 GiB or more");
    column.size = static_cast<std::uint32_t>(size);
    parse_encoding(column);
    columns.push_back(std::move(column));
  }
  if (const Column* const twin = name_stems(columns)) {
    throw Error(ErrorCode::unsupported,
                fmt::format("two columns of a sample are both called \"{}\"", printable(twin->stem)),
                {.hint = "write it again with other names"});
  }
  const auto is_text = [](const Column& column) { return column.encoding == "str"; };
  if (!assign_role(columns, k_key_names, Role::key, is_text))
    assign_role(columns, k_file_names, Role::file_name, is_text);
  assign_role(columns, k_label_names, Role::label, [](const Column& column) {
    const bool is_integer = column.kind == ValueKind::number && (column.type[1] == 'i' || column.type[1] == 'u');
    return is_integer || column.encoding == "str_int";
  });
  assign_image(
      columns, [](const Column& column) { return column.kind == ValueKind::image || column.kind == ValueKind::pixels; },
      [](const Column& column) { return column.kind == ValueKind::bytes; },
      [](const Column& column) { return column.kind == ValueKind::array; });
  keep_fields_apart(columns, endings_of);
  return columns;
}

namespace {

/// Source: `_int2value_dtype` of encodings.py: the number of bits, plus 1 if signed, plus 2 if a float.
std::string type_of_code(std::uint8_t code) {
  const unsigned bits = code & 0xF8U;
  const unsigned kind = code & 7U;
  if (kind > 2) return {};
  return number_type(fmt::format("{}{}", kind == 0 ? "uint" : kind == 1 ? "int" : "float", bits));
}

std::optional<ArrayConversion> own_array(const Column& column, Bytes front) {
  std::uint64_t at = 0;
  std::string type = column.type;
  if (type.empty()) {
    if (front.empty()) return std::nullopt;
    type = type_of_code(std::to_integer<std::uint8_t>(front[at++]));
    if (type.empty()) return std::nullopt;
  }
  if (!column.shape.empty()) return array_delivery(type, column.shape, at);
  if (front.size() <= at) return std::nullopt;
  const auto packed = std::to_integer<std::uint8_t>(front[at++]);
  const std::size_t side_bytes = std::size_t{1} << (packed & 3U);
  std::vector<std::uint64_t> shape(packed >> 2U);
  if (front.size() - at < shape.size() * side_bytes) return std::nullopt;
  for (std::uint64_t& side : shape) {
    for (std::size_t byte = 0; byte < side_bytes; ++byte) {
      side |= std::to_integer<std::uint64_t>(front[at++]) << (8 * byte);
    }
  }
  return array_delivery(type, shape, at);
}

}  // namespace

std::optional<ArrayConversion> conversion_of(const Column& column, Bytes front) {
  switch (column.kind) {
    case ValueKind::number:
      return array_delivery(column.type, {}, 0);
    case ValueKind::array:
      return own_array(column, front);
    case ValueKind::pixels:
      return pillow_delivery(front, column.role == Role::image);
    default:
      return std::nullopt;
  }
}

}  // namespace bale::mds
