#include "bale/loader/transform/json/json.hpp"

#include "bale/formats/base/json/json.hpp"
#include "bale/loader/transform/json/read_value.hpp"
#include "bale/loader/transform/json/write_value.hpp"

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
