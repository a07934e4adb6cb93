// The lines of YOLO's files of labels: boxes, polygons, or boxes with keypoints, which only `kpt_shape` or all lines of
// a dataset together tell apart.
//
// For one thread at a time; parse_yolo_line() is safe in any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bale/writer/source/classes/class_names.hpp"

namespace bale {

/// An annotation as a line of the file says it.
struct YoloLine {
  std::int64_t label;
  std::vector<double> numbers;  // after the class
};

/// Throws `damaged` for a line that is not of this kind.
YoloLine parse_yolo_line(std::string_view line, const YoloKeypoints& keypoints);

/// What the lines of a dataset can be, by those that were added. Lines of poses are equally long and longer than that
/// of a box. Third numbers of their points are 0, 1 or 2, and all other numbers are parts of a side. Lines of boxes say
/// nothing of the others: polygons may be among them, and poses of which some have no points.
class YoloShapes {
 public:
  /// A line with words that are not numbers says nothing.
  void add(std::string_view line);

  bool may_be_boxes_and_polygons() const { return polygons_; }
  bool may_be_poses() const { return length_ != 0 && (pairs_ || triples_); }
  /// Whether these are not poses, whatever the lines to come are.
  bool are_no_poses() const { return length_ != 0 && !pairs_ && !triples_; }
  /// The keypoints of all lines, if these are poses. Third numbers that all may be visibilities are such.
  YoloKeypoints keypoints() const;
  bool has_boxes() const { return has_boxes_; }
  /// Of a line that is not a box, with the class.
  std::size_t num_numbers() const { return length_; }

 private:
  bool has_boxes_ = false;
  std::size_t length_ = 0;
  bool polygons_ = true;
  bool pairs_ = true;    // x, y
  bool triples_ = true;  // x, y, visibility
};

}  // namespace bale
