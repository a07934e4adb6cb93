#include "bale/loader/transform/fields/array_field.hpp"

#include <cstring>
#include <limits>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bale/formats/base/codec/array_header.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/fields/json_array.hpp"

namespace bale::transform_detail {
namespace {

constexpr std::uint64_t k_max_row_bytes = std::uint64_t{1} << 36;

ArrayHeader header_of(Bytes stored) {
  auto header = parse_array_header(stored);
  if (!header) fail_array_header(stored);
  return *std::move(header);
}

std::string text_of(std::string_view type, std::span<const std::uint64_t> shape) {
  return fmt::format("shape ({}) and type {}", fmt::join(shape, ", "), printable(type));
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
