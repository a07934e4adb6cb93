#include "bale/writer/source/annotations/target_text.hpp"

#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/text/escaped_bytes.hpp"

namespace bale {
namespace {

void add_comma(std::string& list) {
  if (!list.empty()) list += ',';
}

}  // namespace

std::string PixelCheck::remark() const {
  if (!is_open() || !has_fractions_) return {};
  return "no coordinate is larger than 1: these look like parts of the images' sides, and are taken as pixels";
}

void TargetText::add(const std::array<double, 4>& box, std::int64_t label) {
  add_comma(boxes_);
  add_label(label);
  char before = '[';
  for (const double number : box) {
    if (!std::isfinite(static_cast<float>(number))) throw Error(ErrorCode::damaged, "a coordinate is too large");
    boxes_ += std::exchange(before, ',');
    boxes_ += number_text(number);
  }
  boxes_ += ']';
}

void TargetText::add_label(std::int64_t label) {
  add_comma(labels_);
  labels_ += fmt::format_int(label).c_str();
}

void TargetText::add_to(std::size_t list, std::string_view json) {
  add_comma(lists_[list]);
  lists_[list] += json;
}

void TargetText::append_to(std::string& out) const {
  out += has_boxes_ ? fmt::format(R"({{"boxes":[{}],"labels":[{}])", boxes_, labels_)
                    : fmt::format(R"({{"labels":[{}])", labels_);
  for (std::size_t i = 0; i < names_.size(); ++i) out += fmt::format(",{}:[{}]", json_of_text(names_[i]), lists_[i]);
  out += '}';
}

std::string json_of_text(std::string_view text) { return Json(text).dump({.replaces = true}); }

double parse_number(std::string_view text) {
  double value = 0;
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size() || !std::isfinite(value)) {
    const bool has_comma = text.find(',') != std::string_view::npos;
    throw Error(ErrorCode::damaged, fmt::format("\"{}\" is not a number{}", excerpt(printable(text), 40),
                                                has_comma ? "; write decimals with a point" : ""));
  }
  return value;
}

std::string json_of_cell(std::string_view cell) {
  if (cell.empty()) return "null";
  try {
    return number_text(parse_number(cell));
  } catch (const Error&) {
    return json_of_text(cell);
  }
}

std::string number_text(double value) {
  char digits[64];
  const auto result = std::to_chars(digits, digits + sizeof digits, value);
  return {digits, result.ptr};
}

}  // namespace bale
