// TargetText: boxes with labels as the JSON of a field that the loader reads (docs/FIELDS.md).
//
// For one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/metadata/metadata.hpp"
#include "bale/formats/shard/sample.hpp"

namespace bale {

// Boxes in parts of the image's sides, as YOLO and Open Images store them, in pixels.

/// The size of the image in pixels that relative coordinates refer to. Throws `unsupported` if it is unknown, or if
/// EXIF says that the image is to be turned: those who drew the boxes may have seen it turned or not.
struct RelativeTo {
  explicit RelativeTo(const SampleView& image) : width(image.width), height(image.height) {
    const FieldView* const file = image.find_image();
    if (file == nullptr || width == 0 || height == 0) {
      throw Error(ErrorCode::unsupported, "boxes in parts of an image whose size is unknown");
    }
    if (exif_orientation(file->bytes) != 1) {
      throw Error(ErrorCode::unsupported, "boxes in parts of an image that is turned by its EXIF orientation",
                  {.hint = "turn the image and its boxes first"});
    }
  }
  double width;
  double height;
};

/// Whether a number is a part of a side. Small excesses are those of rounding.
inline bool is_relative(double number) {
  constexpr double k_tolerance = 0.01;
  return number >= -k_tolerance && number <= 1 + k_tolerance;
}

/// Throws `damaged` for coordinates that are not parts of a side.
inline void check_relative(const std::array<double, 4>& numbers) {
  for (const double number : numbers) {
    if (!is_relative(number)) throw Error(ErrorCode::damaged, "coordinates that are not between 0 and 1");
  }
}

/// Whether all boxes of annotations that have pixels by their format lie in the first pixel, as parts of the sides do.
class PixelCheck {
 public:
  /// Whether no box has been beyond the first pixel.
  bool is_open() const { return largest_ <= 1; }
  void add(double coordinate) {
    largest_ = std::max(largest_, std::abs(coordinate));
    has_fractions_ = has_fractions_ || coordinate != std::floor(coordinate);
  }
  /// A remark; empty if boxes are in pixels, or if there are none.
  std::string remark() const;

 private:
  double largest_ = 0;
  bool has_fractions_ = false;
};

/// {"boxes": [[x0, y0, x1, y1], ...], "labels": [...], NAME: [...], ...}. All lists have one entry per box. Without
/// boxes one per label.
class TargetText {
 public:
  /// `lists` are the names of further lists.
  explicit TargetText(std::vector<std::string> lists = {}, bool has_boxes = true)
      : names_(std::move(lists)), lists_(names_.size()), has_boxes_(has_boxes) {}

  /// Throws `damaged` for a number that is not finite as a float.
  void add(const std::array<double, 4>& box, std::int64_t label);
  /// Of a text without boxes.
  void add_label(std::int64_t label);
  /// Adds an entry of a further list, as JSON.
  void add_to(std::size_t list, std::string_view json);
  void append_to(std::string& out) const;

 private:
  std::vector<std::string> names_;
  std::string boxes_;
  std::string labels_;
  std::vector<std::string> lists_;
  bool has_boxes_;
};

/// `text` as a JSON text. Bytes that are not UTF-8 become U+FFFD.
std::string json_of_text(std::string_view text);
/// The number that the whole of `text` is. Throws `damaged` for anything else and for numbers that are not finite.
double parse_number(std::string_view text);
/// The cell of a table as JSON: a number, or text; null if it is empty.
std::string json_of_cell(std::string_view cell);
/// Shortest text that is read as the same number.
std::string number_text(double value);

}  // namespace bale
