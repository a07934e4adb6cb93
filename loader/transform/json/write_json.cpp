#include "bale/formats/base/json/json.hpp"
#include "bale/loader/transform/json/json.hpp"
#include "bale/loader/transform/json/write_value.hpp"

namespace bale {
namespace {

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

std::string transforms_json(const TransformList& list) { return WriteOwn{}(list).dump(); }

}  // namespace bale
