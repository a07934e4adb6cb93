#include "bale/loader/transform/fields/array_field.hpp"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <system_error>

#include <fmt/format.h>

#include "bale/formats/base/codec/array_header.hpp"
#include "bale/formats/base/codec/half.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/base/text/human.hpp"

namespace bale::transform_detail {
namespace {

// --- lists of numbers in JSON, such as the labels of a sample of several classes

Json parsed_array(Bytes stored) {
  try {
    return parse_json(as_text(stored), {.takes_nan = true});
  } catch (const Error&) {
    throw Error(ErrorCode::damaged, "neither a NumPy array nor JSON");
  }
}

/// What the arrays are made of: the members of the field, as a list if there are several; else all of it.
Json values_of(const Field& field, Bytes stored) {
  const Json given = parsed_array(stored);
  if (field.members.empty()) return given;
  if (field.members.size() == 1) return given.at(field.members.front());
  Json values = Json::array();
  for (const std::string& member : field.members) values.push_back(given.at(member));
  return values;
}

/// The number that a text says, as in a CSV; null if it says none.
Json number_of(std::string_view text) {
  text = stripped(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  const auto read = [&](auto number) -> Json {
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    return error == std::errc() && stop == end ? Json(number) : Json();
  };
  for (Json number : {read(std::int64_t{}), read(std::uint64_t{}), read(double{})}) {
    if (!number.is_null()) return number;
  }
  return {};
}

/// Stores numbers as values of one type.
class Store {
 public:
  Store(const Field& field, std::byte* out) : type_(field.type), takes_texts_(!field.members.empty()), out_(out) {}

  void operator()(const Json& given) {
    const Json read = takes_texts_ && given.is_text() ? number_of(given.as_text({})) : Json();
    const Json& number = read.is_null() ? given : read;
    const char kind = type_[1];
    const std::uint64_t bytes = array_type_bytes(type_);
    const bool is_truth = number.is_truth();
    if (!is_truth && !number.is_number()) refuse(number);
    if (kind == 'b') return put(static_cast<std::uint8_t>(whole<std::uint8_t>(number, 1)));
    if (kind == 'f')
      return put_float(is_truth ? static_cast<double>(number.as_truth({})) : number.as_real({}), bytes, number);
    if (kind == 'u') {
      if (bytes == 1) return put(whole<std::uint8_t>(number));
      if (bytes == 2) return put(whole<std::uint16_t>(number));
      if (bytes == 4) return put(whole<std::uint32_t>(number));
      return put(whole<std::uint64_t>(number));
    }
    if (kind != 'i') refuse(number);  // complex numbers
    if (bytes == 1) return put(whole<std::int8_t>(number));
    if (bytes == 2) return put(whole<std::int16_t>(number));
    if (bytes == 4) return put(whole<std::int32_t>(number));
    put(whole<std::int64_t>(number));
  }

 private:
  [[noreturn]] void refuse(const Json& value) const {
    const std::string text = value.dump();
    throw Error(ErrorCode::unsupported, fmt::format("{} is not a value of type {}", text.substr(0, 40), type_));
  }
  template <typename Whole>
  Whole whole(const Json& value, Whole most = std::numeric_limits<Whole>::max()) const {
    if (value.is_truth()) return value.as_truth({}) ? Whole{1} : Whole{0};
    if (!value.is_whole_within(std::numeric_limits<Whole>::min(), most)) refuse(value);
    return value.as_whole<Whole>({});
  }
  void put_float(double value, std::uint64_t bytes, const Json& given) {
    const auto single = static_cast<float>(value);
    const std::uint16_t half = to_float16(single);
    const bool fits = bytes == 8   ? std::isfinite(value)
                      : bytes == 4 ? std::isfinite(single)
                                   : std::isfinite(from_float16(half));
    if (!fits) refuse(given);
    if (bytes == 8) return put(value);
    if (bytes == 4) return put(single);
    put(half);
  }
  template <typename Value>
  void put(Value value) {
    std::memcpy(out_, &value, sizeof value);
    out_ += sizeof value;
  }

  std::string_view type_;
  bool takes_texts_;
  std::byte* out_;
};

void store_all(const Json& given, const std::vector<std::uint64_t>& shape, std::size_t depth, Store& store) {
  if (depth == shape.size()) return store(given);
  if (!given.is_array() || given.size() != shape[depth]) {
    throw Error(ErrorCode::unsupported,
                fmt::format("JSON of another shape than the batch's arrays, ({})", joined(shape)));
  }
  for (const Json& item : given.as_list({})) store_all(item, shape, depth + 1, store);
}

/// Whether stored bytes begin as a list or a number of JSON, which no NumPy file does.
bool looks_like_json(Bytes stored) {
  const std::string_view text = as_text(stored);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos &&
         std::string_view("[-0123456789tf").find(text[begin]) != std::string_view::npos;
}

/// The lengths of nested lists, by the first item of each; empty for a number. Of several members (Field::members)
/// their number, and then the shape of the first. Throws `damaged` if it is not JSON, or an object without such a
/// member.
std::vector<std::uint64_t> json_array_shape(const Field& field, Bytes stored) {
  const Json given = values_of(field, stored);
  std::vector<std::uint64_t> shape;
  for (const Json* item = &given; item->is_array(); item = &item->as_list({}).front()) {
    shape.push_back(item->size());
    if (item->size() == 0) break;
  }
  return shape;
}

/// Writes the numbers to `out` in C order, as values of the field's type; true and false are 1 and 0, and texts of
/// members are the numbers that they say. Precondition: `out` has array_row_bytes() bytes. Throws `damaged` if it is
/// not JSON, and `unsupported` for another shape than the field's, for a value that is not a number, and for a number
/// that the type does not have.
void read_json_array(const Field& field, Bytes stored, MutableBytes out) {
  Store store(field, out.data());
  store_all(values_of(field, stored), *field.shape, 0, store);
}

// --- NumPy files

constexpr std::uint64_t k_max_row_bytes = std::uint64_t{1} << 36;

ArrayHeader header_of(Bytes stored) {
  auto header = parse_array_header(stored);
  if (!header) fail_array_header(stored);
  return *std::move(header);
}

std::string text_of(std::string_view type, std::span<const std::uint64_t> shape) {
  return fmt::format("shape ({}) and type {}", joined(shape), printable(type));
}

/// Copies values in Fortran's order, in which the first index runs fastest, to C's order.
void copy_transposed(const std::byte* from, std::span<const std::uint64_t> shape, std::uint64_t value_bytes,
                     MutableBytes out) {
  std::vector<std::uint64_t> strides(shape.size());
  std::uint64_t stride = value_bytes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    strides[i] = stride;
    stride *= shape[i];
  }
  std::vector<std::uint64_t> index(shape.size(), 0);
  std::uint64_t at = 0;  // in `from`, in bytes
  for (std::size_t to = 0; to < out.size(); to += value_bytes) {
    std::memcpy(out.data() + to, from + at, value_bytes);
    for (std::size_t i = shape.size(); i > 0; --i) {
      at += strides[i - 1];
      if (++index[i - 1] < shape[i - 1]) break;
      at -= strides[i - 1] * shape[i - 1];
      index[i - 1] = 0;
    }
  }
}

}  // namespace

std::uint64_t array_row_bytes(const Field& field) {
  std::uint64_t bytes = array_type_bytes(field.type);
  for (const std::uint64_t side : *field.shape) {
    if (side == 0) return 0;
  }
  for (const std::uint64_t side : *field.shape) {
    if (bytes > k_max_row_bytes / side) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("array of {} does not fit in memory", text_of(field.type, *field.shape)));
    }
    bytes *= side;
  }
  return bytes;
}

void complete_array_field(Field& field, Bytes stored) {
  if (!field.members.empty() || looks_like_json(stored)) {
    if (field.type.empty()) {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("fields: \"{}\" is JSON, which does not say the type of its numbers", printable(field.name)),
          {.hint = "give the field a dtype"});
    }
    field.shape = json_array_shape(field, stored);
    return;
  }
  const ArrayHeader header = header_of(stored);
  if (field.type.empty()) {
    array_type_bytes(header.type);
    field.type = header.type;
  }
  if (!field.shape) field.shape = header.shape;
}

void read_array_field(const Field& field, Bytes stored, MutableBytes out) {
  if (!field.members.empty() || looks_like_json(stored)) return read_json_array(field, stored, out);
  const ArrayHeader header = header_of(stored);
  if (header.type != field.type || header.shape != *field.shape) {
    throw Error(ErrorCode::unsupported,
                fmt::format("array of {}; the batch has arrays of {}", text_of(header.type, header.shape),
                            text_of(field.type, *field.shape)));
  }
  const Bytes values = stored.subspan(header.data_offset);
  if (values.size() != out.size()) {
    throw Error(ErrorCode::damaged, fmt::format("array of {} has {} bytes of values, not {}",
                                                text_of(header.type, header.shape), values.size(), out.size()));
  }
  if (out.empty()) return;
  if (header.fortran_order && header.shape.size() > 1) {
    copy_transposed(values.data(), header.shape, array_type_bytes(header.type), out);
  } else {
    std::memcpy(out.data(), values.data(), values.size());
  }
}

}  // namespace bale::transform_detail
