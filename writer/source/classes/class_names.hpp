// Class names of a YOLO dataset: the `names` of its data.yaml, or a file with one name per line.
//
// Pure functions, safe in any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bale {

/// The keypoints of each box of a dataset: `kpt_shape`.
struct YoloKeypoints {
  std::size_t count = 0;    // 0: there are none
  std::size_t numbers = 0;  // 2 or 3 of each: x, y and perhaps the visibility

  /// With the class and the box.
  std::size_t line_numbers() const { return 5 + count * numbers; }
};

struct YoloData {
  std::vector<std::string> names;  // of class 0, 1, ...
  YoloKeypoints keypoints{};
};

/// Reads `names` (a list or a map, in lines or in brackets), `nc` and `kpt_shape` of a data.yaml, which may be JSON.
/// Other members are ignored. Throws `damaged` with the line for text that is not YAML and for names that contradict
/// `nc`, `unsupported` for other forms of names, `invalid_argument` if it is not UTF-8. Errors name `path`.
YoloData parse_data_yaml(std::string_view text, const std::string& path);

/// One name per line. Throws `invalid_argument` for one that is not UTF-8.
std::vector<std::string> parse_class_lines(std::string_view text, const std::string& path);

}  // namespace bale
