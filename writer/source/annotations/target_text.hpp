// TargetText: boxes with labels as the JSON of a field that the loader reads (docs/FIELDS.md).
//
// For one thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bale {

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
