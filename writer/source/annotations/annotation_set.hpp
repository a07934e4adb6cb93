// AnnotationSet: what one file or directory of annotations says of the images in a folder.
//
// An annotation set is read twice: once when it is opened, to find which parts of it belong to which image, and again,
// part by part, when a sample is read. It keeps places only, never the annotations.
//
// Threads: bytes(), append() and append_identity() may be called by many threads at once, the rest by one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/notice_log.hpp"
#include "bale/formats/shard/sample.hpp"
#include "bale/writer/source/source.hpp"

namespace bale {

/// The image files below a folder, or those of a list.
struct FolderImages {
  std::string root;                // "": the current directory
  std::vector<std::string> paths;  // below the root, in Python's order or that of the list
  bool is_list = false;            // annotations may be of other images, too
};

/// Annotations whose images do not exist, and images that annotations name twice or not at all.
class AnnotationLog {
 public:
  /// With `skip` they are losses of the source, else an error.
  AnnotationLog(bool skip, NoticeLog& notices, std::vector<SourceLoss>& losses)
      : skip_(skip), notices_(notices), losses_(losses) {}

  /// `num_samples` samples are missing because of `why`. Throws `damaged` unless they may be skipped.
  void lose(const std::string& path, const std::string& why, std::uint64_t num_samples,
            std::optional<std::uint64_t> offset = std::nullopt);
  /// A remark about the annotations at `path`. All samples are delivered.
  void warn(const std::string& path, std::string_view what);
  NoticeLog& notices() { return notices_; }

 private:
  bool skip_;
  NoticeLog& notices_;
  std::vector<SourceLoss>& losses_;
};

/// In pixels.
struct ImageSize {
  double width = 0;
  double height = 0;
};

class AnnotationSet {
 public:
  static constexpr std::uint32_t k_no_row = ~std::uint32_t{0};

  virtual ~AnnotationSet() = default;

  /// The file or directory that it was opened from.
  virtual const std::string& path() const = 0;
  /// Files and directories that are read, for Source::places().
  virtual std::vector<std::string> places() const { return {path()}; }
  /// Names of the fields, which every sample gets.
  virtual const std::vector<std::string>& fields() const = 0;
  /// Class name of label 0, 1, ...
  virtual const std::vector<std::string>& classes() const = 0;

  /// Whether images() are the images to pack. If not, every image of the folder is.
  virtual bool names_images() const = 0;
  /// Paths below the root, in the order in which they are packed.
  virtual std::vector<std::string> images() const { return {}; }
  /// Reports annotations that belong to no image. Called once, before row_of().
  virtual void match(const FolderImages& folder, AnnotationLog& log) = 0;
  /// The row of an image: a path of the folder or of images(). k_no_row: it has no annotations.
  virtual std::uint32_t row_of(const std::string& image) const = 0;

  /// Expected size of field `which` of a row.
  virtual std::uint64_t bytes(std::uint32_t row, std::size_t which) const = 0;
  /// Appends field `which` of a row, or of an image without annotations (k_no_row). `image` has the image's file and
  /// size. Returns the size that the image has by its annotations, in whose pixels they are; nullopt if they do not say
  /// it. Throws `damaged` with the path of the annotations for annotations that are not of this kind, `changed`,
  /// `io`.
  virtual std::optional<ImageSize> append(std::uint32_t row, std::size_t which, const SampleView& image,
                                          std::string& out) const = 0;
  /// Appends what identifies the annotations of a row. Does not throw for damaged content.
  virtual void append_identity(std::uint32_t row, std::string& out) const = 0;
};

/// COCO's JSON: instances (boxes.json), keypoints (keypoints.json), captions (captions.json), and panoptic segmentation
/// (panoptic.png, segments.json), whose PNGs are in the directory of the JSON's name without its suffix.
std::unique_ptr<AnnotationSet> open_coco(const std::string& path, const SourceOptions& options, AnnotationLog& log);
/// Pascal VOC: the directory Annotations, or a list of ImageSets.
std::unique_ptr<AnnotationSet> open_voc(const std::string& path, const SourceOptions& options, AnnotationLog& log);
/// Values of SourceOptions::annotations_format that say what the lines of YOLO hold, other than boxes.
inline constexpr const char* k_yolo_polygons = "yolo-polygons";
inline constexpr const char* k_yolo_pose = "yolo-pose";
/// YOLO: a directory labels, or data.yaml, or a file of class names.
std::unique_ptr<AnnotationSet> open_yolo(const std::string& path, const SourceOptions& options, AnnotationLog& log);
/// Open Images: a table of boxes.
std::unique_ptr<AnnotationSet> open_open_images(const std::string& path, const SourceOptions& options,
                                                AnnotationLog& log);

/// Opens a set as SourceOptions::annotations_format or its content says. Throws `not_found`, `damaged`, and
/// `invalid_argument` if the format cannot be guessed.
std::unique_ptr<AnnotationSet> open_annotations(const std::string& path, const SourceOptions& options,
                                                AnnotationLog& log);

}  // namespace bale
