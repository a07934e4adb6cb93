#include "bale/loader/transform/json/json.hpp"

#include "bale/formats/base/json/json.hpp"
#include "bale/loader/transform/json/read_value.hpp"
#include "bale/loader/transform/json/write_value.hpp"
#include "bale/loader/transform/transforms.hpp"

namespace bale {
namespace {

using transform_detail::k_max_nesting;
using transform_detail::refuse_json;
using transform_detail::ValueReader;

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
  if (depth > k_max_nesting) refuse_json(place, fmt::format("is nested more than {} deep", k_max_nesting));
  TransformList list;
  transform_detail::read_objects(
      given, place, "transforms", [&](const std::string& name, const Json& one, const std::string& one_place) {
        list.push_back(transform_detail::read_alternative<TransformNode, TransformNode::variant>(
            name, one, one_place, "transform", ValueReader(ReadOwn{depth})));
      });
  return list;
}

/// The types of members that only transforms have.
struct WriteOwn {
  Json operator()(const Range& range) const { return Json::list_of(std::array{range.low, range.high}); }
  Json operator()(const Size& size) const { return Json::list_of(std::array{size.height, size.width}); }
  Json operator()(const TransformList& list) const {
    Json out = Json::array();
    for (const TransformNode& node : list) {
      out.push_back(transform_detail::write_alternative(transform_detail::as_variant(node),
                                                        transform_detail::ValueWriter(*this)));
    }
    return out;
  }
};

}  // namespace

TransformList parse_transforms(std::string_view text) {
  return read_list(transform_detail::parsed_json(text, "transforms"), "transforms", 0);
}

std::string transforms_json(const TransformList& list) { return WriteOwn{}(list).dump(); }

}  // namespace bale

namespace bale::transform_detail {
namespace {

Steps read_steps(const Json& given, const std::string& place, bool inside_mixture);

/// The chains of a mixture.
struct ReadChains {
  void operator()(const Json& given, const std::string& place, std::vector<Steps>& out) const {
    if (!given.is_array()) refuse_json(place, fmt::format("{} is not a list", shown(given)));
    out.clear();
    for (const Json& chain : given.as_list(place))
      out.push_back(read_steps(chain, fmt::format("{}[{}]", place, out.size()), true));
  }
};

Steps read_steps(const Json& given, const std::string& place, bool inside_mixture) {
  Steps steps;
  read_objects(given, place, "steps", [&](const std::string& name, const Json& one, const std::string& one_place) {
    if (inside_mixture && name == "Mixture") refuse_json(one_place, "a mixture cannot be inside a mixture");
    steps.push_back(read_alternative<Step, Step>(name, one, one_place, "step", ValueReader(ReadChains{})));
  });
  return steps;
}

struct WriteChain {
  Json operator()(const Steps& steps) const {
    Json out = Json::array();
    for (const Step& step : steps) out.push_back(write_alternative(step, ValueWriter(*this)));
    return out;
  }
};

}  // namespace

std::string steps_json(const Steps& steps) { return WriteChain{}(steps).dump(); }

Steps parse_steps(std::string_view text) { return read_steps(parsed_json(text, "steps"), "steps", false); }

}  // namespace bale::transform_detail
