#include "bale/writer/source/annotations/yolo_lines.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/writer/source/annotations/target_text.hpp"

namespace bale {
namespace {

constexpr std::size_t k_box_words = 5;

std::vector<std::string_view> split_words(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

/// The numbers after the class; nullopt if one is none.
std::optional<std::vector<double>> numbers_of(const std::vector<std::string_view>& words) {
  std::vector<double> numbers;
  try {
    for (std::size_t i = 1; i < words.size(); ++i) numbers.push_back(parse_number(words[i]));
  } catch (const Error&) {
    return std::nullopt;
  }
  return numbers;
}

}  // namespace

YoloLine parse_yolo_line(std::string_view line, const YoloKeypoints& keypoints) {
  const std::vector<std::string_view> words = split_words(line);
  if (keypoints.count != 0 && words.size() != keypoints.line_numbers()) {
    throw Error(ErrorCode::damaged, fmt::format("{} numbers, not the {} of a box with {} keypoints (kpt_shape)",
                                                words.size(), keypoints.line_numbers(), keypoints.count));
  }
  if (words.size() < k_box_words || (keypoints.count == 0 && words.size() % 2 == 0)) {
    throw Error(ErrorCode::damaged,
                fmt::format("{} numbers, not class, cx, cy, width and height, and no polygon", words.size()));
  }
  const double label = parse_number(words[0]);
  YoloLine parsed{.label = static_cast<std::int64_t>(label), .numbers = {}};
  if (label < 0 || label > 1e6 || static_cast<double>(parsed.label) != label) {
    throw Error(ErrorCode::damaged, "the class is not a whole number");
  }
  for (std::size_t i = 1; i < words.size(); ++i) parsed.numbers.push_back(parse_number(words[i]));
  return parsed;
}

void YoloShapes::add(std::string_view line) {
  const std::vector<std::string_view> words = split_words(line);
  const auto numbers = numbers_of(words);
  if (!numbers) return;
  if (words.size() == k_box_words) {
    has_boxes_ = true;
    return;
  }
  if (length_ == 0) length_ = words.size();
  const bool is_pose = words.size() == length_ && length_ > k_box_words;
  const std::size_t of_points = std::max(length_, k_box_words) - k_box_words;
  polygons_ = polygons_ && words.size() % 2 == 1;
  pairs_ = pairs_ && is_pose && of_points % 2 == 0;
  triples_ = triples_ && is_pose && of_points % 3 == 0;
  for (std::size_t i = 0; i < numbers->size(); ++i) {
    const double number = (*numbers)[i];
    const bool is_part = is_relative(number);
    const bool is_third = i >= 4 && (i - 4) % 3 == 2;
    polygons_ = polygons_ && is_part;
    pairs_ = pairs_ && is_part;
    triples_ = triples_ && (is_third ? number == 0 || number == 1 || number == 2 : is_part);
  }
}

YoloKeypoints YoloShapes::keypoints() const {
  const std::size_t of_points = length_ - k_box_words;
  return triples_ ? YoloKeypoints{of_points / 3, 3} : YoloKeypoints{of_points / 2, 2};
}

}  // namespace bale
