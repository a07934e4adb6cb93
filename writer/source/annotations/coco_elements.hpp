// One element of COCO's JSON: an image, a category or an annotation, parsed and checked.
//
// Pure functions, safe in any thread. Each throws `damaged` without a path.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/json.hpp"
#include "bale/writer/source/labels.hpp"

namespace bale {

/// The element, an object. Members that are large and not needed are dropped while parsing, unless `whole`.
Json parse_element(std::string_view text, bool whole = false);

/// The id of an image, a whole number or text, in the member `name`; nullptr if there is none.
const Json* id_in(const Json& object, const char* name);

/// Throws unless the annotation has a box and a category, as the loader reads them.
void check_object(const Json& annotation);
/// Gives an annotation or segment the number of its category, whose names are `categories`.
void number_category(Json& object, const std::vector<std::string>& categories, const Labels& labels);
/// Throws unless it has keypoints.
void check_keypoints(const Json& annotation);

/// "segments_info" of a panoptic annotation (https://cocodataset.org/#format-data): objects with "id" and
/// "category_id".
Json segments_of(const Json& annotation);
/// The name of the PNG of a panoptic annotation, without a directory.
std::string mask_name_of(const Json& annotation);

}  // namespace bale
