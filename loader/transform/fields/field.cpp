#include "bale/loader/transform/field.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/names/known_names.hpp"

namespace bale {
namespace {

constexpr std::size_t k_max_fields = 256;

struct ArrayType {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array<ArrayType, 14> k_array_types{{{"|b1", 1},
                                                   {"|u1", 1},
                                                   {"|i1", 1},
                                                   {"<u2", 2},
                                                   {"<i2", 2},
                                                   {"<u4", 4},
                                                   {"<i4", 4},
                                                   {"<u8", 8},
                                                   {"<i8", 8},
                                                   {"<f2", 2},
                                                   {"<f4", 4},
                                                   {"<f8", 8},
                                                   {"<c8", 8},
                                                   {"<c16", 16}}};

void check_one(const Field& field) {
  const auto refuse = [&](std::string_view what) {
    throw Error(ErrorCode::invalid_argument, fmt::format("fields: \"{}\" {}", printable(field.name), what));
  };
  if (field.name.empty()) refuse("is not a name");
  if (field.kind > FieldKind::keypoints) refuse("has a kind that is none of FieldKind");
  const BoxFormat stored_format = field.stored_format.value_or(BoxFormat::xyxy);
  if (std::max(field.box_format, stored_format) > BoxFormat::cxcywh) {
    refuse("has a format that is none of BoxFormat");
  }
  if (field.source.empty()) refuse("names no stored field");
  const bool is_mask = field.kind == FieldKind::mask;
  if (!is_one_array(field.kind) && !field.type.empty()) refuse("has a dtype, which only arrays and masks have");
  if (is_mask && field.type != "|u1" && field.type != "<i4" && field.type != "<i8") {
    refuse("is a mask, whose dtype is uint8, int32 or int64");
  }
  if (field.fill != 0 && !is_mask) refuse("has a fill, which only masks have");
  if (field.fill > 255 && field.type == "|u1") refuse("has a fill that its dtype, uint8, does not have");
  if (field.kind != FieldKind::boxes && (field.box_format != BoxFormat::xyxy || stored_format != BoxFormat::xyxy)) {
    refuse("has a format, which only boxes have");
  }
  if (field.kind != FieldKind::boxes && !field.without.empty()) refuse("has a `without`, which only boxes have");
  if (field.kind != FieldKind::array && field.shape) refuse("has a shape, which only arrays have");
  if (field.kind != FieldKind::array && !field.members.empty()) refuse("has members, which only arrays have");
  if (field.view && !is_target(field.kind)) refuse("has a view, which only masks, boxes and keypoints have");
  if (!field.type.empty()) array_type_bytes(field.type);
}

}  // namespace

FieldKind field_kind_of(std::string_view source) {
  const std::string_view last = source.substr(source.rfind('.') + 1);  // npos + 1 is 0
  if (last == "txt" || last == "text") return FieldKind::text;
  if (last == "json") return FieldKind::json;
  if (last == k_array_field) return FieldKind::array;
  return FieldKind::bytes;
}

std::uint64_t array_type_bytes(std::string_view type) {
  for (const ArrayType& known : k_array_types) {
    if (known.name == type) return known.bytes;
  }
  throw Error(ErrorCode::unsupported, fmt::format("array of type {}, which batches do not carry", printable(type)));
}

std::vector<Field> checked_fields(std::vector<Field> fields) {
  if (fields.size() > k_max_fields) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{} fields; {} is the most", fields.size(), k_max_fields));
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    Field& field = fields[i];
    if (field.kind == FieldKind::by_name) field.kind = field_kind_of(field.source);
    if (field.kind == FieldKind::mask && field.type.empty()) field.type = "|u1";
    check_one(field);
    const auto end = fields.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(fields.begin(), end, [&](const Field& other) { return other.name == field.name; })) {
      throw Error(ErrorCode::invalid_argument, fmt::format("fields: \"{}\" is given twice", printable(field.name)));
    }
  }
  return fields;
}

Bytes BatchField::row(std::size_t i) const {
  if (i >= present.size()) {
    throw Error(ErrorCode::invalid_argument, fmt::format("row {} of a batch of {}", i, present.size()));
  }
  if (offsets.empty()) {
    const std::size_t bytes = data.size() / present.size();
    return data.subspan(i * bytes, bytes);
  }
  const auto begin = static_cast<std::size_t>(offsets[i]);
  return data.subspan(begin, static_cast<std::size_t>(offsets[i + 1]) - begin);
}

}  // namespace bale
