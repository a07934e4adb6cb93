#include "bale/loader/transform/targets/read_targets.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "bale/formats/base/codec/array_header.hpp"
#include "bale/formats/base/codec/half.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/loader/transform/targets/target.hpp"

namespace bale::transform_detail {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorCode::unsupported, what); }

// --- values

float number_of(double value) {
  const auto number = static_cast<float>(value);
  if (!std::isfinite(number)) refuse("a coordinate is not a finite number");
  return number;
}
float number_of(const Json& value) {
  if (!value.is_number()) refuse("a coordinate is not a number");
  return number_of(value.as_real("a coordinate"));
}
std::int64_t label_of(const Json& value) {
  if (!value.is_whole_within(INT64_MIN, INT64_MAX)) refuse("a label is not a whole number");
  return value.as_whole<std::int64_t>("a label");
}
std::int64_t label_of(double value) {
  if (!(value >= -9007199254740992.0 && value <= 9007199254740992.0) || value != std::floor(value)) {
    refuse("a label is not a whole number");
  }
  return static_cast<std::int64_t>(value);
}

const std::vector<Json>& list_of(const Json& object, const char* name) {
  const Json& list = object.at(name);
  if (!list.is_array()) refuse(fmt::format("\"{}\" is not a list", name));
  return list.as_list(name);
}

// As COCO, the Hugging Face Hub and torchvision call what a box shows.
constexpr const char* k_label_names[] = {"category_id", "category", "categories", "labels", "label"};

/// Gives each target its label, if there are labels. A null is none.
template <typename Targets>
void add_labels(const Json& object, const char* name, Targets& targets) {
  if (!object.contains(name)) return;
  const std::vector<Json>& labels = list_of(object, name);
  if (labels.size() != targets.size()) refuse(fmt::format("{} labels for {} targets", labels.size(), targets.size()));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!labels[i].is_null()) targets[i].label = label_of(labels[i]);
  }
}

// --- boxes

/// The member with the numbers of what boxes show; the first name if there is none.
const char* label_name_in(const Json& given) {
  const auto has_numbers = [&](const char* name) {
    const Json* const value = given.find(name);
    if (value == nullptr || !value->is_array()) return value != nullptr && value->is_number();
    const std::vector<Json>& items = value->as_list(name);
    const auto is_number = [](const Json& item) { return item.is_number(); };
    return items.empty() || (std::any_of(items.begin(), items.end(), is_number) &&
                             std::all_of(items.begin(), items.end(),
                                         [&](const Json& item) { return is_number(item) || item.is_null(); }));
  };
  const auto found = std::find_if(std::begin(k_label_names), std::end(k_label_names), has_numbers);
  return found == std::end(k_label_names) ? k_label_names[0] : *found;
}

Box box_of(const Json& given, BoxFormat format) {
  if (!given.is_array() || given.size() != 4) refuse("a box is not a list of four numbers");
  const std::vector<Json>& sides = given.as_list("a box");
  return to_corners({number_of(sides[0]), number_of(sides[1]), number_of(sides[2]), number_of(sides[3])}, format);
}

void add_boxes(const Json& given, std::optional<BoxFormat> stored, Boxes& boxes) {
  if (given.contains("boxes")) {
    for (const Json& box : list_of(given, "boxes")) boxes.push_back(box_of(box, stored.value_or(BoxFormat::xyxy)));
    const char* const name = label_name_in(given);
    const Json* const others = given.contains("labels") ? nullptr : given.find(name);
    const bool has_one_per_box = others != nullptr && others->is_array() && others->size() == boxes.size();
    return add_labels(given, has_one_per_box ? name : "labels", boxes);
  }
  if (!given.contains("bbox")) refuse("boxes are in a list \"boxes\" or, as COCO's, \"bbox\", and neither is there");
  for (const Json& box : list_of(given, "bbox")) boxes.push_back(box_of(box, stored.value_or(BoxFormat::xywh)));
  add_labels(given, label_name_in(given), boxes);
}

void add_box(const Json& annotation, std::optional<BoxFormat> stored, Boxes& boxes) {
  if (!annotation.is_object() || !annotation.contains("bbox")) refuse("an annotation has no \"bbox\"");
  boxes.push_back(box_of(annotation.at("bbox"), stored.value_or(BoxFormat::xywh)));
  const char* const name = label_name_in(annotation);
  if (annotation.contains(name)) boxes.back().label = label_of(annotation.at(name));
}

// --- keypoints

void add_point(const Json& given, KeyPoints& points) {
  if (!given.is_array() || (given.size() != 2 && given.size() != 3)) refuse("a keypoint is not a list of x and y");
  const std::vector<Json>& point = given.as_list("a keypoint");
  points.push_back({number_of(point[0]), number_of(point[1]), k_no_target_label});
  if (point.size() == 3) points.back().label = label_of(point[2]);
}

void add_points(const Json& given, KeyPoints& points) {
  if (!given.contains("keypoints")) refuse("keypoints are in a list \"keypoints\", which is not there");
  for (const Json& point : list_of(given, "keypoints")) add_point(point, points);
  add_labels(given, "labels", points);
}

/// COCO's: x, y and visibility of all points of an object, in one list.
void add_points_of(const Json& annotation, KeyPoints& points) {
  if (!annotation.is_object() || !annotation.contains("keypoints")) refuse("an annotation has no \"keypoints\"");
  const std::vector<Json>& values = list_of(annotation, "keypoints");
  if (values.size() % 3 != 0) refuse("the keypoints of an annotation are not x, y and visibility of each");
  for (std::size_t i = 0; i < values.size(); i += 3) {
    points.push_back({number_of(values[i]), number_of(values[i + 1]), label_of(values[i + 2])});
  }
}

// --- files

Json parsed_targets(Bytes bytes) {
  try {
    Json given = parse_json(as_text(bytes), {.takes_nan = true});
    // A row of Hugging Face's metadata.jsonl has them in one member.
    const Json* const objects = given.is_object() ? given.find("objects") : nullptr;
    const bool is_row = objects != nullptr && (objects->is_object() || objects->is_array()) &&
                        !given.contains("boxes") && !given.contains("bbox") && !given.contains("annotations") &&
                        !given.contains("keypoints");
    if (is_row) return *objects;
    return given;
  } catch (const Error&) {
    throw Error(ErrorCode::damaged, "boxes and keypoints are JSON or a NumPy array");
  }
}

template <typename Targets, typename AddAll, typename AddAnnotation>
Targets read_json(const Json& given, const AddAll& add_all, const AddAnnotation& add_one) {
  Targets targets;
  const bool is_list = given.is_array();
  if (!is_list && !given.is_object()) refuse("the JSON is neither an object nor a list of annotations");
  if (!is_list && !given.contains("annotations")) {
    add_all(given, targets);
    return targets;
  }
  for (const Json& annotation : is_list ? given.as_list("the JSON") : list_of(given, "annotations")) {
    add_one(annotation, targets);
  }
  return targets;
}

Boxes boxes_in(const Json& given, std::optional<BoxFormat> stored) {
  return read_json<Boxes>(
      given, [stored](const Json& object, Boxes& boxes) { add_boxes(object, stored, boxes); },
      [stored](const Json& annotation, Boxes& boxes) { add_box(annotation, stored, boxes); });
}

bool is_true(const Json& value) {
  return value.is_truth() ? value.as_truth("a member") : value.is_number() && value.as_real("a member") != 0;
}

/// Whether the member `name` of each of `count` boxes is true. What is not there is not.
std::vector<bool> members_of(const Json& given, const std::string& name, std::size_t count) {
  std::vector<bool> are_true(count);
  if (given.is_array() || given.contains("annotations")) {
    const std::vector<Json>& annotations = given.is_array() ? given.as_list("the JSON") : list_of(given, "annotations");
    for (std::size_t i = 0; i < count; ++i) {
      const Json* const member = annotations[i].find(name);
      are_true[i] = member != nullptr && is_true(*member);
    }
  } else if (given.contains(name)) {
    const std::vector<Json>& values = list_of(given, name.c_str());
    if (values.size() != count)
      refuse(fmt::format("{} values \"{}\" for {} boxes", values.size(), printable(name), count));
    for (std::size_t i = 0; i < count; ++i) are_true[i] = is_true(values[i]);
  }
  return are_true;
}

/// An array of one row per target: `width` numbers, and perhaps a label.
class Table {
 public:
  Table(Bytes bytes, std::uint64_t width) {
    const auto header = parse_array_header(bytes);
    if (!header) fail_array_header(bytes);
    const auto& shape = header->shape;
    values_ = bytes.subspan(header->data_offset);
    type_ = header->type;
    const bool is_right =
        shape.size() == 2 && (shape[1] == width || shape[1] == width + 1) && (!header->fortran_order || shape[0] == 0);
    const std::uint64_t value_bytes = array_type_bytes(type_);
    if (!is_right || type_[1] == 'b' || type_[1] == 'c') {
      refuse(fmt::format("the array must have the shape (n, {}) or (n, {}), numbers, and C order", width, width + 1));
    }
    if (shape[0] != values_.size() / (shape[1] * value_bytes) || values_.size() % (shape[1] * value_bytes) != 0) {
      throw Error(ErrorCode::damaged,
                  fmt::format("the array has {} bytes of values, not {} rows", values_.size(), shape[0]));
    }
    num_rows = shape[0];
    columns = shape[1];
    value_bytes_ = value_bytes;
  }

  double at(std::uint64_t row, std::uint64_t column) const {
    const std::byte* const place = values_.data() + (row * columns + column) * value_bytes_;
    if (type_ == "<f8") return load_at<double>(place);
    if (type_ == "<f4") return load_at<float>(place);
    if (type_ == "<f2") return from_float16(load_at<std::uint16_t>(place));
    const bool is_signed = type_[1] == 'i';
    switch (value_bytes_) {
      case 1:
        return is_signed ? load_at<std::int8_t>(place) : load_at<std::uint8_t>(place);
      case 2:
        return is_signed ? load_at<std::int16_t>(place) : load_at<std::uint16_t>(place);
      case 4:
        return is_signed ? load_at<std::int32_t>(place) : load_at<std::uint32_t>(place);
      default:
        return is_signed ? static_cast<double>(load_at<std::int64_t>(place))
                         : static_cast<double>(load_at<std::uint64_t>(place));
    }
  }

  std::uint64_t num_rows = 0;
  std::uint64_t columns = 0;

 private:
  Bytes values_;
  std::string type_;
  std::uint64_t value_bytes_ = 1;
};

bool is_array_file(Bytes bytes) { return as_text(bytes).starts_with(k_array_magic); }

}  // namespace

Boxes read_boxes(Bytes bytes, std::optional<BoxFormat> stored) {
  if (!is_array_file(bytes)) return boxes_in(parsed_targets(bytes), stored);
  const Table table(bytes, 4);
  Boxes boxes;
  for (std::uint64_t i = 0; i < table.num_rows; ++i) {
    boxes.push_back(to_corners(
        {number_of(table.at(i, 0)), number_of(table.at(i, 1)), number_of(table.at(i, 2)), number_of(table.at(i, 3))},
        stored.value_or(BoxFormat::xyxy)));
    if (table.columns == 5) boxes.back().label = label_of(table.at(i, 4));
  }
  return boxes;
}

NumberedBoxes read_boxes(Bytes bytes, const Field& field) {
  NumberedBoxes read;
  std::vector<bool> is_out;
  if (field.without.empty()) {
    read.boxes = read_boxes(bytes, field.stored_format);
    is_out.resize(read.boxes.size());
  } else {
    if (is_array_file(bytes)) refuse("an array does not say what `without` leaves out");
    const Json given = parsed_targets(bytes);
    read.boxes = boxes_in(given, field.stored_format);
    is_out.resize(read.boxes.size());
    for (const std::string& name : field.without) {
      const std::vector<bool> are_true = members_of(given, name, is_out.size());
      std::transform(is_out.begin(), is_out.end(), are_true.begin(), is_out.begin(), std::logical_or<>());
    }
  }
  for (std::size_t i = 0; i < is_out.size(); ++i) {
    if (is_out[i]) continue;
    read.boxes[read.numbers.size()] = read.boxes[i];
    read.numbers.push_back(static_cast<std::int64_t>(i));
  }
  read.boxes.resize(read.numbers.size());
  return read;
}

KeyPoints read_keypoints(Bytes bytes) {
  if (!is_array_file(bytes)) return read_json<KeyPoints>(parsed_targets(bytes), add_points, add_points_of);
  const Table table(bytes, 2);
  KeyPoints points;
  for (std::uint64_t i = 0; i < table.num_rows; ++i) {
    points.push_back({number_of(table.at(i, 0)), number_of(table.at(i, 1)), k_no_target_label});
    if (table.columns == 3) points.back().label = label_of(table.at(i, 2));
  }
  return points;
}

}  // namespace bale::transform_detail
