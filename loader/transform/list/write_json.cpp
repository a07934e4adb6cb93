#include "bale/loader/transform/json/write_value.hpp"
#include "bale/loader/transform/list/json.hpp"

namespace bale {
namespace {

using transform_detail::ordered_json;

/// The types of members that only transforms have.
struct WriteOwn {
  ordered_json operator()(const Range& range) const { return {range.low, range.high}; }
  ordered_json operator()(const Size& size) const { return {size.height, size.width}; }
  ordered_json operator()(const TransformList& list) const {
    ordered_json out = ordered_json::array();
    for (const TransformNode& node : list) {
      out.push_back(transform_detail::write_alternative(transform_detail::as_variant(node),
                                                        transform_detail::ValueWriter(*this)));
    }
    return out;
  }
};

}  // namespace

std::string transforms_json(const TransformList& list) { return WriteOwn{}(list).dump(); }

}  // namespace bale
