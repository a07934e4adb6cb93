// Class names of a YOLO dataset: the `names` of its data.yaml, or a file with one name per line.
//
// Pure functions, safe in any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bale {

struct YoloData {
  std::vector<std::string> names;  // of class 0, 1, ...
  bool has_keypoints = false;      // kpt_shape
};

/// Reads `names` (a list or a map, in lines or in brackets), `nc` and `kpt_shape` of a data.yaml. This is the part of
/// YAML that such files use: other members are ignored. Throws `unsupported` with the line for other forms, `damaged`
/// for names that contradict `nc`. Errors name `path`.
YoloData parse_data_yaml(std::string_view text, const std::string& path);

/// One name per line.
std::vector<std::string> parse_class_lines(std::string_view text);

}  // namespace bale
