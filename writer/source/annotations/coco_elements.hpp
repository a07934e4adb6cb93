// One element of COCO's JSON: an image, a category or an annotation, parsed and checked.
//
// Pure functions, safe in any thread. Each throws `damaged` without a path.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/writer/source/annotations/annotation_set.hpp"
#include "bale/writer/source/annotations/target_text.hpp"
#include "bale/writer/source/classes/labels.hpp"
#include "bale/writer/source/files/text_files.hpp"

namespace bale {

/// Reads a large JSON file whose top level is an object of arrays, one element of an array at a time.
///
/// Only the structure around the elements is checked; the caller parses each element. Memory: one block and the largest
/// element. For one thread.
class JsonElements {
 public:
  static constexpr std::size_t k_max_element_bytes = std::size_t{64} << 20;

  /// Throws `not_found`, `io`.
  explicit JsonElements(const std::string& path);

  /// Moves to the next element of an array at the top level. Returns false at the end. Throws `damaged` with the offset
  /// if the file is cut short or no such JSON, `unsupported` for an element larger than k_max_element_bytes, `io`.
  bool next();
  /// Name of the array. Valid until the next call of next(), as element().
  std::string_view array() const { return array_; }
  std::string_view element() const { return std::string_view(buffer_).substr(begin_, end_ - begin_); }
  /// Offset of the element in the file.
  std::uint64_t offset() const { return base_ + begin_; }

 private:
  [[noreturn]] void fail(std::string_view what) const;
  int peek();
  int peek_after_space();
  void expect(char wanted);
  void take_string();
  void skip_value();
  bool enter_array();
  bool fill();

  File file_;
  std::string buffer_;
  std::uint64_t base_ = 0;  // offset of buffer_ in the file
  std::size_t at_ = 0;      // next byte in buffer_
  std::size_t begin_ = 0;   // of what must stay in buffer_
  std::size_t end_ = 0;     // of the element
  bool keeps_ = false;      // bytes from begin_ on must stay
  bool started_ = false;
  bool in_array_ = false;
  std::string array_;
};

/// The element, an object. Members that are large and not needed are dropped while parsing, unless `whole`.
Json parse_element(std::string_view text, bool whole = false);

/// The id of an image, a whole number or text, in the member `name`; null if there is none. 1.0 is 1, as in Python.
Json id_in(const Json& object, const char* name);

/// The path of an image below the folder, in the member `file_name`, or the name in LVIS's `coco_url`, with the
/// directory before it. Throws if there is neither.
struct ImageName {
  std::string path;
  std::string without_directory{};  // of a URL: the other place where the image may be
};
ImageName image_name_of(const Json& image);

/// Throws unless the annotation has a box and a category, as the loader reads them.
void check_object(const Json& annotation);
/// Adds the numbers of an annotation's box, if it has one.
void add_box(const Json& annotation, PixelCheck& pixels);
/// Gives an annotation or segment the number of its category, whose names are `categories`.
void number_category(Json& object, const std::vector<std::string>& categories, const Labels& labels);
/// Throws unless it has keypoints.
void check_keypoints(const Json& annotation);

/// "segments_info" of a panoptic annotation (https://cocodataset.org/#format-data): objects with "id" and
/// "category_id".
Json segments_of(const Json& annotation);
/// The name of the PNG of a panoptic annotation, without a directory.
std::string mask_name_of(const Json& annotation);

// The PNGs of COCO's panoptic annotations: which there are, and their bytes.
//
// Threads: const methods may be called by many threads at once.

class PanopticMasks {
 public:
  /// The directory of the PNGs of panoptic_val2017.json is panoptic_val2017 next to it, as COCO's zip unpacks.
  explicit PanopticMasks(const std::string& annotations);

  /// Says which PNG is that of an image, which is known by a number. Throws `damaged` for the second of an image.
  void add(std::uint32_t image, std::string png);
  /// Lists the PNGs. `row_of_image` is indexed by those numbers, and has k_no_row for images that are not packed;
  /// `images` by rows. Images without a PNG are losses. Throws `not_found` if there is no directory.
  void find(const std::vector<std::uint32_t>& row_of_image, const std::vector<std::string>& images, AnnotationLog& log);

  const std::string& directory() const { return directory_; }
  bool has(std::uint32_t row) const { return mask_of_row_[row] != AnnotationSet::k_no_row; }
  // Of a row that has one:
  std::uint64_t bytes(std::uint32_t row) const { return files_.bytes(mask_of_row_[row]); }
  /// Throws `damaged` if it is not a PNG, and as TextFiles::read().
  void append(std::uint32_t row, std::string& out) const;
  void append_identity(std::uint32_t row, std::string& out) const { files_.append_identity(mask_of_row_[row], out); }

 private:
  std::string annotations_;
  std::string directory_;
  std::vector<std::string> names_;  // by image, until find()
  TextFiles files_;
  std::vector<std::uint32_t> mask_of_row_;
};

}  // namespace bale
