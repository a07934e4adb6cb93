#include <nlohmann/json.hpp>

#include "bale/loader/transform/list/enum_names.hpp"
#include "bale/loader/transform/list/json.hpp"
#include "bale/loader/transform/list/members.hpp"

namespace bale {
namespace {

using nlohmann::ordered_json;

ordered_json list_json(const TransformList& list);

template <typename Value>
requires std::is_arithmetic_v<Value> || std::is_same_v<Value, std::string> ordered_json value_json(const Value& value) {
  return value;
}
template <typename Enum>
requires std::is_enum_v<Enum> ordered_json value_json(const Enum& value) {
  for (const auto& [name, named] : transform_detail::names_of(static_cast<const Enum*>(nullptr))) {
    if (named == value) return name;
  }
  return nullptr;
}
ordered_json value_json(const Range& range) { return {range.low, range.high}; }
ordered_json value_json(const Size& size) { return {size.height, size.width}; }
ordered_json value_json(const TransformList& list) { return list_json(list); }

template <typename Sequence>
ordered_json sequence_json(const Sequence& sequence) {
  ordered_json out = ordered_json::array();
  for (const auto& value : sequence) out.push_back(value_json(value));
  return out;
}
template <typename Value, std::size_t N>
ordered_json value_json(const std::array<Value, N>& values) {
  return sequence_json(values);
}
template <typename Value>
ordered_json value_json(const std::vector<Value>& values) {
  return sequence_json(values);
}
template <typename Value>
ordered_json value_json(const std::optional<Value>& value) {
  return value ? value_json(*value) : ordered_json();
}

ordered_json list_json(const TransformList& list) {
  ordered_json out = ordered_json::array();
  for (const TransformNode& node : list) {
    std::visit(
        [&out](const auto& transform) {
          ordered_json object{{"name", transform_detail::name_of(&transform)}};
          transform_detail::for_members(
              transform, [&object](const char* name, const auto& member) { object[name] = value_json(member); });
          out.push_back(std::move(object));
        },
        transform_detail::as_variant(node));
  }
  return out;
}

}  // namespace

std::string transforms_json(const TransformList& list) { return list_json(list).dump(); }

}  // namespace bale
