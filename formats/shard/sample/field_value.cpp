#include "bale/formats/shard/sample/field_value.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "bale/formats/base/codec/array_header.hpp"
#include "bale/formats/base/codec/half.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/shard/sample.hpp"

namespace bale {
namespace {

/// The text of a JSON value that is a text, a number or a truth value, or a list of one.
std::optional<std::string> scalar_of_json(std::string_view text) {
  try {
    const Json given = parse_json(text);
    const Json& value = given.is_array() && given.size() == 1 ? given.as_list("a field").front() : given;
    if (value.is_text()) return value.as_text("a field");
    if (value.is_number() || value.kind() == Json::Kind::truth) return value.dump();
  } catch (const Error&) {  // it is none
  }
  return std::nullopt;
}

/// The text of the value of an array file that has one, as JSON writes it.
std::optional<std::string> scalar_of_array(Bytes file) {
  const auto header = parse_array_header(file);
  if (!header || header->type.size() < 2 || num_elements(*header) != std::optional<std::uint64_t>(1))
    return std::nullopt;
  const auto value = [&]<typename Value>(Value) -> std::optional<Value> {
    const Bytes stored = file.subspan(header->data_offset);
    if (stored.size() != sizeof(Value)) return std::nullopt;
    Value number{};
    std::memcpy(&number, stored.data(), sizeof number);
    if (!header->type.starts_with('>')) return number;
    auto turned = std::bit_cast<std::array<std::byte, sizeof(Value)>>(number);
    std::reverse(turned.begin(), turned.end());
    return std::bit_cast<Value>(turned);
  };
  const auto text = [](const auto& number) {
    return number ? std::optional(fmt::format("{}", *number)) : std::nullopt;
  };
  const std::string_view type = std::string_view(header->type).substr(1);
  if (type == "b1") {
    const auto truth = value(std::uint8_t{});
    return truth ? std::optional<std::string>(*truth != 0 ? "true" : "false") : std::nullopt;
  }
  if (type == "i1") return text(value(std::int8_t{}));
  if (type == "u1") return text(value(std::uint8_t{}));
  if (type == "i2") return text(value(std::int16_t{}));
  if (type == "u2") return text(value(std::uint16_t{}));
  if (type == "i4") return text(value(std::int32_t{}));
  if (type == "u4") return text(value(std::uint32_t{}));
  if (type == "i8") return text(value(std::int64_t{}));
  if (type == "u8") return text(value(std::uint64_t{}));
  if (type == "f4") return text(value(float{}));
  if (type == "f8") return text(value(double{}));
  const auto half = type == "f2" ? value(std::uint16_t{}) : std::nullopt;
  return half ? std::optional(fmt::format("{}", from_float16(*half))) : std::nullopt;
}

}  // namespace

std::optional<std::string> single_value(std::string_view field, Bytes stored) {
  std::string_view text = as_text(stored);
  if (text.starts_with(k_array_magic)) return scalar_of_array(stored);
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (field == "json" || field.ends_with(".json")) return scalar_of_json(text);
  return std::string(text);
}

std::int64_t field_label(std::string_view field, Bytes stored) {
  const std::int64_t label = parse_label(stored);  // nearly always: without a copy
  if (label != k_no_label) return label;
  const auto value = single_value(field, stored);
  return value ? parse_label(as_bytes(*value)) : k_no_label;
}

}  // namespace bale
