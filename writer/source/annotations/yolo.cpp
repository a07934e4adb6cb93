// YOLO: a text file per image, with lines "class cx cy width height" in parts of the image's sides
// (https://docs.ultralytics.com/datasets/detect/).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/writer/source/annotations/annotation_set.hpp"
#include "bale/writer/source/annotations/target_text.hpp"
#include "bale/writer/source/classes/class_names.hpp"
#include "bale/writer/source/classes/labels.hpp"
#include "bale/writer/source/files/long_path.hpp"
#include "bale/writer/source/files/text_files.hpp"
#include "bale/writer/source/folder/folder_walk.hpp"
#include "bale/writer/source/rows/file_rows.hpp"

namespace bale {
namespace {

// The lines of YOLO's files of labels: boxes, polygons, or boxes with keypoints, which only `kpt_shape` or all lines of
// a dataset together tell apart.
//
// For one thread at a time; parse_yolo_line() is safe in any thread.

/// An annotation as a line of the file says it.
struct YoloLine {
  std::int64_t label;
  std::vector<double> numbers;  // after the class
};

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

/// Throws `damaged` for a line that is not of this kind.
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
  if (!(label >= 0 && label <= 1e6) || label != std::floor(label)) {
    throw Error(ErrorCode::damaged, "the class is not a whole number");
  }
  YoloLine parsed{.label = static_cast<std::int64_t>(label), .numbers = {}};
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

constexpr std::uint64_t k_max_names_bytes = std::uint64_t{16} << 20;
constexpr unsigned k_list_jobs = 8;

/// `path` with its last directory "images" replaced by "labels", as ultralytics has them; else unchanged. A relative
/// path may have that directory above the current one.
std::string labels_place(const std::string& path) {
  constexpr std::string_view k_images = "/images/";
  const auto replaced = [&](const std::string& whole) -> std::optional<std::string> {
    const std::size_t at = whole.rfind(k_images);
    if (at == std::string::npos) return std::nullopt;
    return whole.substr(0, at) + "/labels/" + whole.substr(at + k_images.size());
  };
  if (auto place = replaced("/" + path)) return place->substr(1);  // the first directory counts
  if (path.starts_with('/')) return path;
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  if (error) return path;
  return replaced((here / path).lexically_normal().string()).value_or(path);
}

/// What a data.yaml near a directory of labels says: in it, or up to two directories above. Those that are no such file
/// say nothing. Throws `invalid_argument` for one that is not UTF-8.
YoloData data_near(const std::string& labels) {
  std::string directory = labels;
  for (int level = 0; level < 3 && !directory.empty(); ++level, directory = parent_directory(directory)) {
    struct stat info {};
    if (stat_long_path(directory, info) != 0) break;
    for (const std::string& name : list_top_level(directory).files) {
      if (!name.ends_with(".yaml") && !name.ends_with(".yml")) continue;
      const std::string path = join_path(directory, name);
      try {
        return parse_data_yaml(as_text(read_file(path, k_max_names_bytes)), path);
      } catch (const Error& error) {
        if (error.code() == ErrorCode::invalid_argument || is_lack_of_resources(error)) throw;
      }
    }
  }
  return {};
}

/// Corners in parts of the sides. A polygon's are those of the smallest box around it.
std::array<double, 4> corners_of(const std::vector<double>& numbers) {
  if (numbers.size() == 4) {
    check_relative({numbers[0], numbers[1], numbers[2], numbers[3]});
    return {numbers[0] - numbers[2] / 2, numbers[1] - numbers[3] / 2, numbers[0] + numbers[2] / 2,
            numbers[1] + numbers[3] / 2};
  }
  std::array<double, 4> box{numbers[0], numbers[1], numbers[0], numbers[1]};
  for (std::size_t i = 0; i < numbers.size(); i += 2) {
    box = {std::min(box[0], numbers[i]), std::min(box[1], numbers[i + 1]), std::max(box[2], numbers[i]),
           std::max(box[3], numbers[i + 1])};
  }
  check_relative(box);
  return box;
}

class Yolo : public AnnotationSet {
 public:
  Yolo(const std::string& path, const SourceOptions& options)
      : path_(path), format_(options.annotations_format), class_numbers_(options) {
    struct stat info {};
    if (stat_long_path(path, info) != 0) throw_errno("examine", path);
    if (S_ISDIR(info.st_mode)) {
      labels_ = path;
      const std::string names = join_path(path, "classes.txt");
      if (stat_long_path(names, info) == 0) classes_ = parse_class_lines(text_of(names), names);
    } else if (path.ends_with(".yaml") || path.ends_with(".yml")) {
      YoloData data = parse_data_yaml(text_of(path), path);
      keypoints_ = data.keypoints;
      has_data_ = true;
      classes_ = std::move(data.names);
    } else {
      classes_ = parse_class_lines(text_of(path), path);
      if (classes_.empty()) throw Error(ErrorCode::invalid_argument, "names no class", {.path = path});
    }
    if (class_numbers_.has_map()) class_numbers_.take_names({});
  }

  const std::string& path() const override { return path_; }
  std::vector<std::string> places() const override { return {path_, labels_}; }
  const std::vector<std::string>& fields() const override { return fields_; }
  const std::vector<std::string>& classes() const override {
    return class_numbers_.has_map() ? class_numbers_.classes() : classes_;
  }
  bool names_images() const override { return false; }

  void match(const FolderImages& folder, AnnotationLog& log) override {
    const bool is_given = !labels_.empty();
    if (!is_given) labels_ = labels_place(folder.root + "/");
    while (labels_.size() > 1 && labels_.ends_with('/')) labels_.pop_back();
    if (!has_data_) {
      const YoloData near = data_near(labels_);
      keypoints_ = near.keypoints;
      if (classes_.empty() && keypoints_.count != 0) classes_ = near.names;
    }
    if (classes_.empty()) log.warn(path_, "no class names: there is no classes.txt; give data.yaml instead");
    std::uint64_t num_bare = 0;
    std::unordered_map<std::string, const std::string*> image_of;
    for (const std::string& image : folder.paths) {
      const std::size_t dot = image.rfind('.');
      const std::string stem = is_given ? join_path(labels_, image.substr(0, dot))
                                        : labels_place(join_path(folder.root, image.substr(0, dot)));
      const std::string text = stem + ".txt";
      const auto [other, is_new] = image_of.try_emplace(text, &image);
      if (!is_new) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("belongs to two images, {} and {}", printable(*other->second), printable(image)),
                    {.path = text, .hint = "leave one out with `exclude`"});
      }
      if (files_.add(text) || files_.add(stem + ".TXT")) {
        rows_.emplace(image, files_.size() - 1);
      } else {
        ++num_bare;
      }
    }
    if (files_.size() == 0 && !folder.paths.empty()) {
      throw Error(ErrorCode::not_found, "no labels for any image",
                  {.path = image_of.begin()->first, .hint = "give the directory of the labels as `annotations`"});
    }
    if (num_bare > 0) {
      log.warn(labels_, fmt::format("{} images have no file of labels; they are packed without boxes", num_bare));
    }
    decide_shapes(log);
    if (!folder.is_list) report_orphans(image_of, log);
  }

  std::uint32_t row_of(const std::string& image) const override {
    const auto found = rows_.find(image);
    return found == rows_.end() ? k_no_row : found->second;
  }
  std::uint64_t bytes(std::uint32_t row, std::size_t) const override {
    return 40 + (row == k_no_row ? 0 : 3 * files_.bytes(row));
  }

  std::optional<ImageSize> append(std::uint32_t row, std::size_t, const SampleView& image,
                                  std::string& out) const override {
    TargetText targets({"yolo"});
    std::string objects;  // with keypoints
    if (row != k_no_row) {
      const std::string text = files_.read(row);
      for_each_line(text, [&](std::string_view line, std::size_t number) {
        try {
          const YoloLine parsed = parse_yolo_line(line, keypoints_);
          has_keypoints() ? add_pose(parsed, image, objects) : add(parsed, image, targets);
        } catch (const Error& error) {
          throw Error(error.code(), fmt::format("line {}: {}", number, error.message()),
                      {.path = files_.path(row), .hint = error.context().hint});
        }
      });
    }
    if (has_keypoints()) {
      out += "[" + objects + "]";
    } else {
      targets.append_to(out);
    }
    return std::nullopt;
  }
  void append_identity(std::uint32_t row, std::string& out) const override {
    if (row != k_no_row) files_.append_identity(row, out);
  }

 private:
  static std::string text_of(const std::string& path) {
    return std::string(as_text(read_file(path, k_max_names_bytes)));
  }

  bool has_keypoints() const { return keypoints_.count != 0; }

  /// What the lines hold: as the format says, else `kpt_shape`, else what all lines together can only be.
  void decide_shapes(AnnotationLog& log) {
    if (format_ == k_yolo_polygons) keypoints_ = {};
    if (format_ != k_yolo_polygons && !has_keypoints()) find_keypoints(log);
    if (has_keypoints()) fields_ = {"keypoints.json"};
  }

  void find_keypoints(AnnotationLog& log) {
    const YoloShapes shapes = shapes_of_all();
    const bool must_be_poses = format_ == k_yolo_pose;
    if (!shapes.may_be_poses()) {
      if (must_be_poses) {
        throw Error(ErrorCode::invalid_argument, "not all lines are boxes with the same number of keypoints",
                    {.path = labels_, .hint = "give a data.yaml with kpt_shape to find the lines that are not"});
      }
      return;
    }
    const YoloKeypoints found = shapes.keypoints();
    const std::string what = fmt::format("boxes with {} keypoints of {} numbers", found.count, found.numbers);
    if (!must_be_poses && shapes.may_be_boxes_and_polygons()) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("all lines{} have {} numbers, which are polygons or {}",
                              shapes.has_boxes() ? " but those of boxes" : "", shapes.num_numbers(), what),
                  {.path = labels_,
                   .hint = fmt::format("give `annotations_format` {} or {}, or a data.yaml with kpt_shape",
                                       k_yolo_polygons, k_yolo_pose)});
    }
    keypoints_ = found;
    log.warn(labels_, fmt::format("no kpt_shape: the lines are {}", what));
  }

  YoloShapes shapes_of_all() const {
    YoloShapes shapes;
    for (std::uint32_t row = 0; row < files_.size() && !shapes.are_no_poses(); ++row) {
      try {
        for_each_line(files_.read(row), [&](std::string_view line, std::size_t) { shapes.add(line); });
      } catch (const Error& error) {
        if (is_lack_of_resources(error)) throw;  // others are reported with their sample
      }
    }
    return shapes;
  }

  /// An object as COCO has it: pixels, "bbox" as x, y, width and height, three numbers per keypoint. One without a
  /// visibility is visible, unless both its numbers are 0.
  void add_pose(const YoloLine& line, const SampleView& image, std::string& out) const {
    const std::int64_t label = class_numbers_.renumbered(line.label, classes_);
    const std::vector<double>& numbers = line.numbers;
    const RelativeTo size(image);
    const std::array<double, 4> box = corners_of({numbers.begin(), numbers.begin() + 4});
    std::string points;
    for (std::size_t i = 4; i < numbers.size(); i += keypoints_.numbers) {
      const double x = numbers[i];
      const double y = numbers[i + 1];
      check_relative({x, y, 0, 0});
      const double visible = keypoints_.numbers == 3 ? numbers[i + 2] : x == 0 && y == 0 ? 0 : 2;
      points += fmt::format("{}{},{},{}", points.empty() ? "" : ",", number_text(x * size.width),
                            number_text(y * size.height), number_text(visible));
    }
    out += fmt::format(R"({}{{"bbox":[{},{},{},{}],"category_id":{},"keypoints":[{}]}})", out.empty() ? "" : ",",
                       number_text(box[0] * size.width), number_text(box[1] * size.height),
                       number_text((box[2] - box[0]) * size.width), number_text((box[3] - box[1]) * size.height), label,
                       points);
  }

  void add(const YoloLine& line, const SampleView& image, TargetText& targets) const {
    const std::int64_t label = class_numbers_.renumbered(line.label, classes_);
    const std::array<double, 4> box = corners_of(line.numbers);
    const RelativeTo size(image);
    targets.add({box[0] * size.width, box[1] * size.height, box[2] * size.width, box[3] * size.height}, label);
    std::string numbers;
    for (const double number : line.numbers) numbers += (numbers.empty() ? "[" : ",") + number_text(number);
    targets.add_to(0, numbers + "]");
  }

  static bool is_text_file(std::string_view name) { return name.ends_with(".txt") || name.ends_with(".TXT"); }

  /// Files of labels that belong to no image.
  void report_orphans(const std::unordered_map<std::string, const std::string*>& image_of, AnnotationLog& log) const {
    struct stat info {};
    if (stat_long_path(labels_, info) != 0) return;
    NoticeLog others;
    std::vector<SourceLoss> losses;
    DirectoryWalk walk(labels_, {.wanted = is_text_file}, others, losses, k_list_jobs);
    for (const DirectoryFiles& files : walk.files_below(labels_)) {
      for (std::size_t i = 0; i < files.size(); ++i) {
        const std::string path = join_path(files.path(), files[i]);
        const std::string usual = path.substr(0, path.size() - 4) + ".txt";
        if (image_of.contains(usual) || path == path_ || !is_labels(path)) continue;
        log.lose(path, "labels of an image that does not exist", 1);
      }
    }
  }

  /// Whether a file without an image has boxes, by its first line.
  bool is_labels(const std::string& path) const {
    TextFiles file;
    if (!file.add(path) || file.bytes(0) > TextFiles::k_max_bytes) return false;
    std::optional<bool> is;
    for_each_line(file.read(0), [&](std::string_view line, std::size_t) {
      if (is) return;
      try {
        parse_yolo_line(line, keypoints_);
        is = true;
      } catch (const Error&) {
        is = false;
      }
    });
    return is.value_or(false);
  }

  std::string path_;
  std::string format_;
  std::string labels_;
  std::vector<std::string> fields_{"boxes.json"};
  std::vector<std::string> classes_;  // as the files number them
  Labels class_numbers_;
  bool has_data_ = false;  // data.yaml was given
  YoloKeypoints keypoints_;
  TextFiles files_;
  std::unordered_map<std::string, std::uint32_t> rows_;  // by image
};

}  // namespace

std::unique_ptr<AnnotationSet> open_yolo(const std::string& path, const SourceOptions& options, AnnotationLog&) {
  return std::make_unique<Yolo>(path, options);
}

}  // namespace bale
