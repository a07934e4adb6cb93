#include "bale/writer/source/annotations/coco_elements.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json_bytes.hpp"

namespace bale {
namespace {

bool is_box(const Json& value) {
  return value.is_array() && value.size() == 4 && std::all_of(value.begin(), value.end(), [](const Json& number) {
           return number.is_number() && std::isfinite(static_cast<float>(number.get<double>()));
         });
}

bool is_whole(const Json& object, const char* member) {
  return object.contains(member) && object[member].is_number_integer();
}

}  // namespace

Json parse_element(std::string_view text, bool whole) {
  constexpr int k_max_depth = 100;
  const auto keep = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > k_max_depth) throw Error(ErrorCode::damaged, "JSON nested too deeply");
    return whole || depth != 1 || event != Json::parse_event_t::key || value != "segmentation";
  };
  try {
    Json parsed = Json::parse(text, keep);
    if (!parsed.is_object()) throw Error(ErrorCode::damaged, "not a JSON object");
    return parsed;
  } catch (const Json::exception&) {
    throw Error(ErrorCode::damaged, "not JSON");
  }
}

bool is_id(const Json& value) { return value.is_number_integer() || value.is_string(); }

void check_object(const Json& annotation) {
  if (!annotation.contains("bbox") || !is_box(annotation["bbox"])) {
    throw Error(ErrorCode::damaged, "an annotation without a \"bbox\" of four numbers");
  }
  if (!is_whole(annotation, "category_id")) {
    throw Error(ErrorCode::damaged, "an annotation without a whole number as \"category_id\"");
  }
}

void check_keypoints(const Json& annotation) {
  const Json& points = json_member(annotation, "keypoints");
  const bool fits = points.is_array() && points.size() % 3 == 0 &&
                    std::all_of(points.begin(), points.end(), [](const Json& number) { return number.is_number(); });
  if (!fits) throw Error(ErrorCode::damaged, "an annotation whose \"keypoints\" are not x, y and visibility of each");
}

Json segments_of(const Json& annotation) {
  const Json& segments = json_member(annotation, "segments_info");
  const bool fits = segments.is_array() && std::all_of(segments.begin(), segments.end(), [](const Json& segment) {
                      return segment.is_object() && is_whole(segment, "id") && is_whole(segment, "category_id");
                    });
  if (!fits) {
    throw Error(ErrorCode::damaged,
                "an annotation whose \"segments_info\" are not objects with \"id\" and \"category_id\"");
  }
  return segments;
}

std::string mask_name_of(const Json& annotation) {
  if (!annotation.contains("file_name") || !annotation["file_name"].is_string()) {
    throw Error(ErrorCode::damaged, "a panoptic annotation without the \"file_name\" of its PNG");
  }
  std::string name = annotation["file_name"].get<std::string>();
  if (name.empty() || name.find('/') != std::string::npos || name == "." || name == ".." ||
      name.find('\0') != std::string::npos) {
    throw Error(ErrorCode::damaged, fmt::format("\"{}\" is not the name of a PNG", printable(name)));
  }
  return name;
}

}  // namespace bale
