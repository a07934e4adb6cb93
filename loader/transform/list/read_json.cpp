#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/list/enum_names.hpp"
#include "bale/loader/transform/list/members.hpp"
#include "bale/loader/transform/transforms.hpp"

namespace bale {
namespace {

using nlohmann::json;

constexpr int k_max_depth = 16;

/// Where in the list a value is: "transforms[2].RandomApply.transforms[0]".
using Place = std::string;

[[noreturn]] void refuse(const Place& place, std::string_view why) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", place, why));
}

TransformList read_list(const json& given, const Place& place, int depth);

/// Reads one value by the type of its member.
struct ReadValue {
  int depth;

  void operator()(const json& given, const Place& place, bool& out) const {
    if (!given.is_boolean()) refuse(place, "is not true or false");
    out = given.get<bool>();
  }
  void operator()(const json& given, const Place& place, std::string& out) const {
    if (!given.is_string()) refuse(place, "is not a text");
    out = given.get<std::string>();
  }
  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void operator()(const json& given, const Place& place, Number& out) const {
    if constexpr (std::is_integral_v<Number>) {
      const bool fits = given.is_number_integer() && given >= std::numeric_limits<Number>::min() &&
                        given <= std::numeric_limits<Number>::max();
      if (!fits) refuse(place, fmt::format("{} is not a whole number in range", given.dump()));
    } else if (!given.is_number() || !std::isfinite(given.get<double>())) {
      refuse(place, fmt::format("{} is not a finite number", given.dump()));
    }
    out = given.get<Number>();
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void operator()(const json& given, const Place& place, Enum& out) const {
    std::string known;
    for (const auto& [name, value] : transform_detail::names_of(static_cast<const Enum*>(nullptr))) {
      if (given.is_string() && given.get_ref<const std::string&>() == name) {
        out = value;
        return;
      }
      known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
    }
    refuse(place, fmt::format("{} is not one of {}", given.dump(), known));
  }
  template <typename Value>
  void operator()(const json& given, const Place& place, std::optional<Value>& out) const {
    out.reset();
    if (!given.is_null()) (*this)(given, place, out.emplace());
  }
  template <typename Value, std::size_t N>
  void operator()(const json& given, const Place& place, std::array<Value, N>& out) const {
    if (!given.is_array() || given.size() != N) refuse(place, fmt::format("{} is not {} values", given.dump(), N));
    for (std::size_t i = 0; i < N; ++i) (*this)(given[i], place, out[i]);
  }
  template <typename Value>
  void operator()(const json& given, const Place& place, std::vector<Value>& out) const {
    if (!given.is_array()) refuse(place, fmt::format("{} is not a list", given.dump()));
    out.clear();
    for (const json& item : given) (*this)(item, place, out.emplace_back());
  }
  void operator()(const json& given, const Place& place, TransformList& out) const {
    out = read_list(given, place, depth + 1);
  }
  void operator()(const json& given, const Place& place, Range& out) const {
    std::array<double, 2> ends{};
    (*this)(given, place, ends);
    out = {ends[0], ends[1]};
    if (out.low > out.high) refuse(place, fmt::format("{} is not a range [low, high]", given.dump()));
  }
  void operator()(const json& given, const Place& place, Size& out) const {
    std::array<std::uint32_t, 2> sides{};
    (*this)(given, place, sides);
    out = {.height = sides[0], .width = sides[1]};
  }
};

template <typename Node>
Node read_members(const json& given, const Place& place, int depth) {
  Node node;
  std::set<std::string> known{"name"};
  transform_detail::for_members(node, [&](const char* name, auto& member) {
    known.insert(name);
    const auto found = given.find(name);
    if (found != given.end()) ReadValue{depth}(*found, fmt::format("{}.{}", place, name), member);
  });
  for (const auto& [name, value] : given.items()) {
    if (!known.contains(name)) refuse(place, fmt::format("has no parameter '{}'", name));
  }
  return node;
}

template <std::size_t I = 0>
TransformNode read_node(const std::string& name, const json& given, const Place& place, int depth) {
  if constexpr (I == std::variant_size_v<TransformNode::variant>) {
    refuse(place, fmt::format("there is no transform '{}'", name));
  } else {
    using Node = std::variant_alternative_t<I, TransformNode::variant>;
    if (name == transform_detail::name_of(static_cast<const Node*>(nullptr))) {
      return read_members<Node>(given, fmt::format("{}.{}", place, name), depth);
    }
    return read_node<I + 1>(name, given, place, depth);
  }
}

TransformList read_list(const json& given, const Place& place, int depth) {
  if (!given.is_array()) refuse(place, "is not a list of transforms");
  if (depth > k_max_depth) refuse(place, fmt::format("is nested more than {} deep", k_max_depth));
  TransformList list;
  for (const json& item : given) {
    const Place item_place = fmt::format("{}[{}]", place, list.size());
    if (!item.is_object() || !item.contains("name") || !item["name"].is_string()) {
      refuse(item_place, "is not an object with a name");
    }
    list.push_back(read_node(item["name"].get<std::string>(), item, item_place, depth));
  }
  return list;
}

}  // namespace

TransformList parse_transforms(std::string_view text) {
  const json given = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (given.is_discarded()) throw Error(ErrorCode::invalid_argument, "transforms: the text is not JSON");
  return read_list(given, "transforms", 0);
}

}  // namespace bale
