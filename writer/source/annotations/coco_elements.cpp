#include "bale/writer/source/annotations/coco_elements.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/writer/source/files/long_path.hpp"
#include "bale/writer/source/rows/source_root.hpp"

namespace bale {
namespace {

constexpr std::size_t k_block_bytes = std::size_t{1} << 20;
constexpr std::size_t k_max_name_bytes = 4096;
constexpr int k_end = -1;

bool is_space(int c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

JsonElements::JsonElements(const std::string& path) : file_(File::open_read(path)) {
  fill();
  if (buffer_.starts_with("\xEF\xBB\xBF")) at_ = 3;
}

bool JsonElements::next() {
  keeps_ = false;
  if (!started_) {
    started_ = true;
    if (peek_after_space() != '{') fail("not a JSON object, as COCO's annotations are");
    ++at_;
    if (peek_after_space() == '}') {
      ++at_;
      if (peek_after_space() != k_end) fail("more after the JSON object");
      return false;
    }
    in_array_ = enter_array();
  } else if (in_array_) {
    if (peek_after_space() == ',') {
      ++at_;
      if (peek_after_space() == ']') fail("a comma before the end of an array");
    } else {
      if (peek_after_space() != ']') fail("neither a comma nor the end of an array after an element");
      ++at_;
      in_array_ = false;
    }
  }
  while (!in_array_) {
    const int c = peek_after_space();
    if (c == '}') {
      ++at_;
      if (peek_after_space() != k_end) fail("more after the JSON object");
      return false;
    }
    expect(',');
    in_array_ = enter_array();
  }
  peek_after_space();
  begin_ = at_;
  keeps_ = true;
  skip_value();
  end_ = at_;
  return true;
}

/// Reads a name and the beginning of its value. Returns false, after the value, unless that is an array with elements.
bool JsonElements::enter_array() {
  if (peek_after_space() != '"') fail("no name where a member must begin");
  begin_ = at_;
  keeps_ = true;
  take_string();
  if (at_ - begin_ > k_max_name_bytes) fail("the name of a member is too long");
  array_ = buffer_.substr(begin_ + 1, at_ - begin_ - 2);
  keeps_ = false;
  expect(':');
  if (peek_after_space() != '[') {
    if (peek() == '{' && (array_ == "images" || array_ == "annotations" || array_ == "categories")) {
      fail(fmt::format("\"{}\" is not an array", array_));
    }
    skip_value();
    return false;
  }
  ++at_;
  if (peek_after_space() != ']') return true;
  ++at_;
  return false;
}

void JsonElements::fail(std::string_view what) const {
  throw Error(ErrorCode::damaged, what,
              {.path = file_.path(), .offset = base_ + at_, .hint = "check that the file is complete"});
}

int JsonElements::peek() {
  if (at_ == buffer_.size() && !fill()) return k_end;
  return static_cast<unsigned char>(buffer_[at_]);
}

int JsonElements::peek_after_space() {
  while (is_space(peek())) ++at_;
  return peek();
}

void JsonElements::expect(char wanted) {
  if (peek_after_space() != wanted) fail(fmt::format("not JSON: no \"{}\"", wanted));
  ++at_;
}

void JsonElements::take_string() {
  ++at_;
  for (;;) {
    const int c = peek();
    if (c == k_end) fail("the file ends within a text");
    ++at_;
    if (c == '"') return;
    if (c != '\\') continue;
    if (peek() == k_end) fail("the file ends within a text");
    ++at_;
  }
}

/// Nested values are skipped by their brackets, however deep they are.
void JsonElements::skip_value() {
  std::uint64_t depth = 0;
  const std::size_t first = at_;
  do {
    const int c = depth == 0 ? peek() : peek_after_space();
    if (c == k_end) fail("the file ends within a value");
    if (c == '"') {
      take_string();
    } else if (c == '{' || c == '[') {
      ++depth;
      ++at_;
    } else if (c == '}' || c == ']') {
      if (depth == 0) fail("no value where one must be");
      --depth;
      ++at_;
    } else if (depth > 0) {
      ++at_;
    } else {
      while (peek() != k_end && !is_space(peek()) && peek() != ',' && peek() != ']' && peek() != '}') ++at_;
      if (at_ == first) fail("no value where one must be");
    }
  } while (depth > 0);
}

/// Reads the next block behind what must stay. Returns false at the end of the file.
bool JsonElements::fill() {
  const std::size_t kept_from = keeps_ ? begin_ : at_;
  if (buffer_.size() - kept_from > k_max_element_bytes) {
    throw Error(ErrorCode::unsupported, fmt::format("a value of more than {} bytes", k_max_element_bytes),
                {.path = file_.path(), .offset = base_ + kept_from});
  }
  buffer_.erase(0, kept_from);
  base_ += kept_from;
  at_ -= kept_from;
  begin_ = keeps_ ? 0 : at_;
  const std::size_t had = buffer_.size();
  buffer_.resize(had + k_block_bytes);
  const std::size_t got =
      file_.read_some(base_ + had, {reinterpret_cast<std::byte*>(buffer_.data() + had), k_block_bytes});
  buffer_.resize(had + got);
  return got > 0;
}

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

/// The member as a whole number, if that is what its value is: 1.0, too.
std::optional<std::int64_t> whole_in(const Json& object, const char* name) {
  const Json* const member = object.find(name);
  if (member == nullptr || !member->is_number()) return std::nullopt;
  if (member->is_whole())
    return member->is_whole_within(INT64_MIN, INT64_MAX) ? std::optional(member->as_whole<std::int64_t>(name))
                                                         : std::nullopt;
  constexpr double k_exact = 9007199254740992.0;
  const double value = member->as_real(name);
  const bool is_whole = value >= -k_exact && value <= k_exact && value == std::floor(value);
  return is_whole ? std::optional(static_cast<std::int64_t>(value)) : std::nullopt;
}

bool has_whole(const Json& object, const char* name) { return whole_in(object, name).has_value(); }

}  // namespace

Json parse_element(std::string_view text, bool whole) {
  Json parsed = parse_json(text, {.dropped = whole ? "" : "segmentation", .takes_nan = true});
  if (!parsed.is_object()) throw Error(ErrorCode::damaged, "not a JSON object");
  return parsed;
}

Json id_in(const Json& object, const char* name) {
  const Json* const id = object.find(name);
  if (id == nullptr || id->is_text() || id->is_whole()) return id == nullptr ? Json() : *id;
  const std::optional<std::int64_t> whole = whole_in(object, name);
  return whole ? Json(*whole) : Json();
}

ImageName image_name_of(const Json& image) {
  const auto text_in = [&](const char* name) -> std::string {
    const Json* const value = image.find(name);
    return value != nullptr && value->is_text() ? value->as_text(name) : std::string();
  };
  if (std::string name = text_in("file_name"); !name.empty()) return {.path = clean_path(name)};
  const std::string url = text_in("coco_url");
  const std::string file = url.substr(url.rfind('/') + 1);
  if (file.empty()) throw Error(ErrorCode::damaged, "an image without a \"file_name\"");
  const std::string directory = base_name(url.substr(0, url.size() - std::min(url.size(), file.size() + 1)));
  return {.path = directory.empty() ? file : directory + "/" + file, .without_directory = file};
}

void check_object(const Json& annotation) {
  if (!is_box(annotation.find("bbox"))) {
    throw Error(ErrorCode::damaged, "an annotation without a \"bbox\" of four numbers");
  }
  if (!has_whole(annotation, "category_id")) {
    throw Error(ErrorCode::damaged, "an annotation without a whole number as \"category_id\"");
  }
}

void add_box(const Json& annotation, PixelCheck& pixels) {
  const Json* const box = annotation.find("bbox");
  if (!is_box(box)) return;
  for (const Json& number : box->as_list("bbox")) pixels.add(number.as_real("a coordinate"));
}

void number_category(Json& object, const std::vector<std::string>& categories, const Labels& labels) {
  const auto number = whole_in(object, "category_id").value_or(-1);
  object["category_id"] = labels.renumbered(number, categories);
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

PanopticMasks::PanopticMasks(const std::string& annotations)
    : annotations_(annotations),
      directory_(annotations.ends_with(".json") ? annotations.substr(0, annotations.size() - 5)
                                                : annotations + ".masks") {}

void PanopticMasks::add(std::uint32_t image, std::string png) {
  if (names_.size() <= image) names_.resize(std::size_t{image} + 1);
  if (!names_[image].empty()) {
    throw Error(ErrorCode::damaged, fmt::format("two panoptic annotations of one image: {} and {}",
                                                printable(names_[image]), printable(png)));
  }
  names_[image] = std::move(png);
}

void PanopticMasks::find(const std::vector<std::uint32_t>& row_of_image, const std::vector<std::string>& images,
                         AnnotationLog& log) {
  struct stat info {};
  if (stat_long_path(directory_, info) != 0 || !S_ISDIR(info.st_mode)) {
    throw Error(ErrorCode::not_found, "no directory with the PNGs of the panoptic annotations",
                {.path = directory_, .hint = "unpack the zip of this name there, as COCO has it next to the JSON"});
  }
  names_.resize(row_of_image.size());
  mask_of_row_.assign(images.size(), AnnotationSet::k_no_row);
  std::uint64_t num_lost = 0;
  std::string first;
  for (std::size_t image = 0; image < row_of_image.size(); ++image) {
    const std::uint32_t row = row_of_image[image];
    const std::string& name = names_[image];
    if (row == AnnotationSet::k_no_row) continue;
    if (!name.empty() && files_.add(fmt::format("{}/{}", directory_, name))) {
      mask_of_row_[row] = files_.size() - 1;
    } else if (num_lost++ == 0) {
      first = name.empty() ? fmt::format("{} has none", printable(images[row]))
                           : fmt::format("{}/{} does not exist", printable(directory_), printable(name));
    }
  }
  names_ = {};
  if (num_lost == 0) return;
  log.lose(annotations_, fmt::format("{} of {} images have no panoptic annotation: {}", num_lost, images.size(), first),
           num_lost);
}

void PanopticMasks::append(std::uint32_t row, std::string& out) const {
  const std::string png = files_.read(mask_of_row_[row]);
  if (!png.starts_with("\x89PNG\r\n\x1a\n")) {
    throw Error(ErrorCode::damaged, "not a PNG", {.path = files_.path(mask_of_row_[row])});
  }
  out += png;
}

}  // namespace bale
