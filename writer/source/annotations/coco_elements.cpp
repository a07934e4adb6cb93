#include "bale/writer/source/annotations/coco_elements.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json.hpp"

namespace bale {
namespace {

/// Whether the value is an array all of whose items fit.
template <typename Fits>
bool is_list_of(const Json& value, const Fits& fits) {
  if (!value.is_array()) return false;
  const std::vector<Json>& items = value.as_list("a list");
  return std::all_of(items.begin(), items.end(), fits);
}

bool is_box(const Json* value) {
  return value != nullptr && value->size() == 4 && is_list_of(*value, [](const Json& number) {
           return number.is_number() && std::isfinite(static_cast<float>(number.as_real("a coordinate")));
         });
}

bool has_whole(const Json& object, const char* name) {
  const Json* const member = object.find(name);
  return member != nullptr && member->is_whole();
}

}  // namespace

Json parse_element(std::string_view text, bool whole) {
  Json parsed = parse_json(text, {.dropped = whole ? "" : "segmentation"});
  if (!parsed.is_object()) throw Error(ErrorCode::damaged, "not a JSON object");
  return parsed;
}

const Json* id_in(const Json& object, const char* name) {
  const Json* const id = object.find(name);
  return id != nullptr && (id->is_whole() || id->is_text()) ? id : nullptr;
}

void check_object(const Json& annotation) {
  if (!is_box(annotation.find("bbox"))) {
    throw Error(ErrorCode::damaged, "an annotation without a \"bbox\" of four numbers");
  }
  if (!has_whole(annotation, "category_id")) {
    throw Error(ErrorCode::damaged, "an annotation without a whole number as \"category_id\"");
  }
}

void number_category(Json& object, const std::vector<std::string>& categories, const Labels& labels) {
  const auto number = object.whole<std::int64_t>("category_id");
  const std::int64_t renumbered = labels.renumbered(number, categories);
  if (renumbered != number) object["category_id"] = renumbered;
}

void check_keypoints(const Json& annotation) {
  const Json& points = annotation.at("keypoints");
  const bool fits = points.size() % 3 == 0 && is_list_of(points, [](const Json& number) { return number.is_number(); });
  if (!fits) throw Error(ErrorCode::damaged, "an annotation whose \"keypoints\" are not x, y and visibility of each");
}

Json segments_of(const Json& annotation) {
  const Json& segments = annotation.at("segments_info");
  const bool fits = is_list_of(
      segments, [](const Json& segment) { return has_whole(segment, "id") && has_whole(segment, "category_id"); });
  if (!fits) {
    throw Error(ErrorCode::damaged,
                "an annotation whose \"segments_info\" are not objects with \"id\" and \"category_id\"");
  }
  return segments;
}

std::string mask_name_of(const Json& annotation) {
  const Json* const given = annotation.find("file_name");
  if (given == nullptr || !given->is_text()) {
    throw Error(ErrorCode::damaged, "a panoptic annotation without the \"file_name\" of its PNG");
  }
  std::string name = given->as_text("file_name");
  if (name.empty() || name.find('/') != std::string::npos || name == "." || name == ".." ||
      name.find('\0') != std::string::npos) {
    throw Error(ErrorCode::damaged, fmt::format("\"{}\" is not the name of a PNG", printable(name)));
  }
  return name;
}

}  // namespace bale
