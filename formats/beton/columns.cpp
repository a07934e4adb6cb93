#include "bale/formats/beton/columns.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "bale/formats/base/codec/array_header.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/names/known_names.hpp"
#include "bale/formats/shard/sample.hpp"

namespace bale::beton {
namespace {

// Source: TYPE_ID_HANDLER of types.py.
enum TypeNumber : std::uint8_t { k_float, k_int, k_image, k_bytes, k_array, k_json, k_tensor, k_custom = 255 };

constexpr std::size_t k_name_bytes = 16;
constexpr std::size_t k_max_sides = 32;

[[noreturn]] void fail(const Column& column, std::string_view what) {
  throw Error(ErrorCode::damaged, fmt::format("field \"{}\" {}", column.name, what));
}

/// Up to the first NUL. nullopt if it is not printable ASCII.
std::optional<std::string> name_of(Bytes descriptor) {
  const std::string_view padded = as_text(descriptor.subspan(1, k_name_bytes));
  const std::string_view name = padded.substr(0, padded.find('\0'));
  const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (!std::all_of(name.begin(), name.end(), is_printable)) return std::nullopt;
  return std::string(name);
}

/// Source: fields/ndarray.py: the sides, of which those at the end may be 0 for none, and NumPy's `dtype.descr`.
void parse_array(Column& column, Bytes arguments) {
  constexpr std::size_t k_word = sizeof(std::uint64_t);
  for (std::size_t i = 0; i < k_max_sides; ++i) {
    column.shape.push_back(load_at<std::uint64_t>(arguments.data() + i * k_word));
  }
  while (!column.shape.empty() && column.shape.back() == 0) column.shape.pop_back();
  const auto length = load_at<std::uint64_t>(arguments.data() + k_max_sides * k_word);
  const Bytes description = arguments.subspan((k_max_sides + 1) * k_word);
  if (length > description.size()) fail(column, "has a description beyond its descriptor");
  const Json described = parse_json(as_text(description.first(static_cast<std::size_t>(length))));
  if (!described.is_array() || described.size() == 0) fail(column, "has no type");
  const std::vector<Json>& parts = described.as_list("its type");
  // Of structures each member is a part, and a member that is an array has its sides as a third entry.
  if (parts.size() != 1 || !parts[0].is_array() || parts[0].size() != 2) return;
  const Json& type = parts[0].as_list("its type")[1];
  if (!type.is_text()) return;
  column.type = type.as_text("its type");
  if (element_bytes(column.type) != 0) column.kind = ValueKind::array;
}

Column parse_column(Bytes descriptor, std::size_t number) {
  const std::optional<std::string> name = name_of(descriptor);
  if (!name) throw Error(ErrorCode::damaged, fmt::format("field {} has a name that is not ASCII", number));
  Column column;
  column.name = *name;
  switch (const auto type = std::to_integer<std::uint8_t>(descriptor[0])) {
    case k_float:
    case k_int:
      column.kind = ValueKind::number;
      column.type = type == k_float ? "<f8" : "<i8";
      break;
    case k_image:
      column.kind = ValueKind::image;
      break;
    case k_bytes:
      column.kind = ValueKind::bytes;
      break;
    case k_json:
      column.kind = ValueKind::json;
      break;
    case k_array:
    case k_tensor:
      parse_array(column, descriptor.subspan(1 + k_name_bytes));
      break;
    case k_custom:
      throw Error(
          ErrorCode::unsupported,
          fmt::format("field \"{}\" has a custom type, which only the program that wrote it knows", column.name),
          {.hint = "pack what the file was written from"});
    default:
      throw Error(ErrorCode::unsupported,
                  fmt::format("field \"{}\" has type {}, this bale reads 0 to 6", column.name, type));
  }
  return column;
}

/// As NumPy aligns the members of a structure: numbers and pointers alone at multiples of 8, packed pairs anywhere.
std::uint32_t place_metadata(std::vector<Column>& columns) {
  const auto up = [](std::uint32_t at) { return (at + 7) / 8 * 8; };
  std::uint32_t at = 0;
  bool has_words = false;
  for (Column& column : columns) {
    const std::uint32_t bytes = metadata_bytes(column.kind);
    const bool is_word = bytes == sizeof(std::uint64_t);
    has_words = has_words || is_word;
    column.place = is_word ? up(at) : at;
    at = column.place + bytes;
  }
  return has_words ? up(at) : at;
}

/// The extensions that fields of the column may get.
std::vector<std::string_view> endings_of(const Column& column) {
  switch (column.kind) {
    case ValueKind::image:
      return {"jpg", k_array_field};
    case ValueKind::bytes:
      return endings_of_bytes();
    case ValueKind::json:
      return {"json"};
    case ValueKind::opaque:
      return {"bin"};
    default:
      return {k_array_field};
  }
}

}  // namespace

bool is_plausible_descriptor(Bytes descriptor) {
  const auto type = std::to_integer<std::uint8_t>(descriptor[0]);
  const std::optional<std::string> name = name_of(descriptor);
  const std::string_view rest = as_text(descriptor.subspan(1, k_name_bytes)).substr(name ? name->size() : 0);
  return (type <= k_tensor || type == k_custom) && name && !name->empty() &&
         rest.find_first_not_of('\0') == std::string_view::npos;
}

Columns parse_columns(Bytes descriptors) {
  Columns columns;
  for (std::size_t i = 0; i < descriptors.size() / k_descriptor_bytes; ++i) {
    columns.all.push_back(parse_column(descriptors.subspan(i * k_descriptor_bytes, k_descriptor_bytes), i));
  }
  // ffcv cuts names, so two may be the same.
  if (const Column* const twin = name_stems(columns.all)) fail(*twin, "has the name of another field");
  columns.record_bytes = place_metadata(columns.all);
  assign_role(columns.all, k_label_names, Role::label,
              [](const Column& column) { return column.kind == ValueKind::number && column.type == "<i8"; });
  assign_image(
      columns.all, [](const Column& column) { return column.kind == ValueKind::image; },
      [](const Column& column) { return column.kind == ValueKind::bytes; },
      [](const Column& column) { return column.kind == ValueKind::array; });
  keep_fields_apart(columns.all, endings_of);
  return columns;
}

std::uint32_t metadata_bytes(ValueKind kind) {
  constexpr std::uint32_t k_image_bytes = 13;  // mode u8, width u16, height u16, position u64
  constexpr std::uint32_t k_pair_bytes = 16;   // position u64, size u64
  if (kind == ValueKind::image) return k_image_bytes;
  return kind == ValueKind::bytes || kind == ValueKind::json ? k_pair_bytes : sizeof(std::uint64_t);
}

/// Source: numpy's `dtype.str`: byte order, kind, size; of characters their number; of times the unit.
std::uint64_t element_bytes(std::string_view type) {
  constexpr std::size_t k_longest = 24;
  if (type.size() < 3 || type.size() > k_longest || std::string_view("<>|").find(type[0]) == std::string_view::npos) {
    return 0;
  }
  const char kind = type[1];
  std::uint32_t size = 0;
  const char* const end = type.data() + type.size();
  const auto [rest, problem] = std::from_chars(type.data() + 2, end, size);
  if (problem != std::errc{}) return 0;
  if (kind == 'M' || kind == 'm') {
    const auto is_unit = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    };
    const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
    const bool has_unit = unit.size() > 2 && unit.front() == '[' && unit.back() == ']' &&
                          std::all_of(unit.begin() + 1, unit.end() - 1, is_unit);
    return size == 8 && (unit.empty() || has_unit) ? size : 0;
  }
  if (rest != end) return 0;
  if (kind == 'S' || kind == 'V') return size;
  if (kind == 'U') return std::uint64_t{size} * 4;
  const bool is_power = size != 0 && (size & (size - 1)) == 0;
  if (kind == 'b') return size == 1 ? 1 : 0;
  if (kind == 'i' || kind == 'u') return is_power && size <= 8 ? size : 0;
  if (kind == 'f') return is_power && size >= 2 && size <= 16 ? size : 0;
  if (kind == 'c') return is_power && size >= 8 && size <= 32 ? size : 0;
  return 0;
}

namespace {

constexpr std::uint64_t k_channels = 3;
constexpr std::uint64_t k_max_bytes = std::uint64_t{1} << 32;

/// nullopt if it is 4 GiB or more.
std::optional<std::uint64_t> array_bytes(const Column& column) {
  std::uint64_t bytes = element_bytes(column.type);
  for (const std::uint64_t side : column.shape) {
    // The product of two numbers below 2^32 fits.
    if (side >= k_max_bytes || bytes >= k_max_bytes) return std::nullopt;
    bytes *= side;
  }
  return bytes < k_max_bytes ? std::optional(bytes) : std::nullopt;
}

}  // namespace

Value value_of(const Column& column, Bytes metadata, std::uint64_t position) {
  const std::byte* const at = metadata.data();
  switch (column.kind) {
    case ValueKind::number:
      return {.offset = position, .bytes = sizeof(std::uint64_t)};
    case ValueKind::image: {
      Value value{.offset = load_at<std::uint64_t>(at + 5),
                  .mode = std::to_integer<std::uint8_t>(*at),
                  .width = load_at<std::uint16_t>(at + 1),
                  .height = load_at<std::uint16_t>(at + 3)};
      if (value.mode == k_raw) value.bytes = k_channels * value.width * value.height;
      return value;
    }
    case ValueKind::bytes:
    case ValueKind::json:
      return {.offset = load_at<std::uint64_t>(at), .bytes = load_at<std::uint64_t>(at + 8)};
    case ValueKind::array:
      return {.offset = load_at<std::uint64_t>(at), .bytes = array_bytes(column)};
    default:
      return {.offset = load_at<std::uint64_t>(at)};
  }
}

std::optional<ArrayConversion> conversion_of(const Column& column, const Value& value) {
  const bool is_raw = column.kind == ValueKind::image && value.mode == k_raw;
  const bool is_array = column.kind == ValueKind::array || column.kind == ValueKind::number;
  if ((!is_raw && !is_array) || !value.bytes) return std::nullopt;
  return ArrayConversion{
      .extension = std::string(k_array_field),
      .head = is_raw ? image_header_text(value.height, value.width) : array_header_text(column.type, column.shape),
      .tail_bytes = *value.bytes};
}

}  // namespace bale::beton
