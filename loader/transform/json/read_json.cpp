#include "bale/formats/base/json/json.hpp"
#include "bale/loader/transform/json/read_value.hpp"
#include "bale/loader/transform/transforms.hpp"

namespace bale {
namespace {

using transform_detail::refuse_json;
using transform_detail::ValueReader;

constexpr int k_max_depth = 16;

TransformList read_list(const Json& given, const std::string& place, int depth);

/// The types of members that only transforms have.
struct ReadOwn {
  int depth;

  void operator()(const Json& given, const std::string& place, TransformList& out) const {
    out = read_list(given, place, depth + 1);
  }
  void operator()(const Json& given, const std::string& place, Range& out) const {
    std::array<double, 2> ends{};
    ValueReader (*this)(given, place, ends);
    out = {ends[0], ends[1]};
    if (out.low > out.high)
      refuse_json(place, fmt::format("{} is not a range [low, high]", transform_detail::shown(given)));
  }
  void operator()(const Json& given, const std::string& place, Size& out) const {
    std::array<std::uint32_t, 2> sides{};
    ValueReader (*this)(given, place, sides);
    out = {.height = sides[0], .width = sides[1]};
  }
};

TransformList read_list(const Json& given, const std::string& place, int depth) {
  if (depth > k_max_depth) refuse_json(place, fmt::format("is nested more than {} deep", k_max_depth));
  TransformList list;
  transform_detail::read_objects(
      given, place, "transforms", [&](const std::string& name, const Json& one, const std::string& one_place) {
        list.push_back(transform_detail::read_alternative<TransformNode, TransformNode::variant>(
            name, one, one_place, "transform", ValueReader(ReadOwn{depth})));
      });
  return list;
}

}  // namespace

TransformList parse_transforms(std::string_view text) {
  return read_list(transform_detail::parsed_json(text, "transforms"), "transforms", 0);
}

}  // namespace bale
