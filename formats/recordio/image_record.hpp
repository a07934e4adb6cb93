// Image records: a payload is a header, labels, the image, and the fields that a header cannot hold (FORMAT.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/recordio/record.hpp"
#include "bale/formats/shard/field_rule.hpp"

namespace bale::recordio {

inline constexpr std::size_t k_image_header_bytes = 24;
inline constexpr std::size_t k_label_bytes = 4;

/// Field for several labels of one sample: a JSON array of numbers.
inline constexpr std::string_view k_labels_field = "labels.json";

/// Stored names are in a table with one byte for their length.
inline constexpr FieldRule k_field_rule{.max_bytes = 255};

/// The label that we write for an image without one. im2rec takes that label from its list.
inline constexpr float k_unlabeled = -1;

struct IrHeader {
  float label = k_unlabeled;    // if `labels` is empty
  std::vector<float> labels{};  // their number is the header's flag
  std::uint64_t id = 0;

  std::size_t bytes() const { return k_image_header_bytes + labels.size() * k_label_bytes; }
  /// The label of the sample as a class number; k_no_label if it is not one.
  std::int64_t class_label() const;
  /// Whether the field `cls` is made from the header: its only label is a class number.
  bool has_class_field() const { return labels.empty() && class_label() >= 0; }
  /// Whether the field `labels.json` is made from the header: its labels are not a class number.
  bool has_labels_field() const { return !labels.empty() || (!has_class_field() && label != k_unlabeled); }
  std::string class_text() const;
  std::string labels_text() const;
};

/// Whether a header can hold this class number exactly: a float holds whole numbers up to 2^24.
bool fits_header(std::int64_t label);

/// The labels whose labels_text() is `text`; nullopt if there are none, or if a header would hold them as a class.
std::optional<std::vector<float>> parse_labels(std::string_view text);

std::vector<std::byte> encode_header(const IrHeader& header);

/// Reads the header of a record. Throws `damaged` if the record is too short for it.
IrHeader read_header(FileWindow& window, const Record& record);

/// A field after the header, by its stored name.
struct StoredField {
  std::string name;
  std::uint64_t position = 0;  // in the payload
  std::uint32_t length = 0;
};

/// The table of fields. It is written after the fields, which lie end to end.
std::vector<std::byte> encode_table(const std::vector<StoredField>& fields);

/// The fields of a record that ends with our table, the image first. nullopt for a record without it: everything after
/// the header is the image. Throws `damaged` for a malformed table.
std::optional<std::vector<StoredField>> read_table(FileWindow& window, const Record& record, const IrHeader& header);

// Image lists, im2rec's `.lst`: one line per image with its number, labels and path.

/// Keys and labels by the numbers of their records.
class ImageList {
 public:
  /// The list next to a `.rec` file; empty if there is none. Malformed lines are ignored.
  static ImageList beside(const std::string& record_path);

  /// nullptr if the list does not have the number, or has it twice.
  const std::string* key(std::uint64_t id) const;
  /// Whether the list has the labels of the record's header, up to its six decimals. True if it does not have the
  /// number once.
  bool has_labels_of(const IrHeader& header) const;
  /// The path of the list; empty if there is none.
  const std::string& path() const { return path_; }
  std::uint64_t size() const { return lines_.size(); }
  /// The number of the last line, if it has no line end and its path does not end as that of an image: it may be cut.
  const std::optional<std::uint64_t>& doubtful() const { return doubtful_; }

 private:
  struct Line {
    std::uint64_t id = 0;
    std::string key{};
    std::string labels{};  // as the list has them, with tabs between
  };
  const Line* line(std::uint64_t id) const;

  std::string path_;
  std::vector<Line> lines_;  // sorted by number
  std::optional<std::uint64_t> doubtful_;
};

/// What is odd about the `.idx` next to a `.rec` file, which has a line per record, or about the list if there is none;
/// empty if nothing is. A list may have more lines than an `.idx`: im2rec leaves out images that it cannot read.
std::string odd_index_beside(const std::string& record_path, std::uint64_t num_records, const ImageList& list);

/// A line of the list, as im2rec writes it.
std::string list_line(const IrHeader& header, std::string_view key, std::string_view image_field);

}  // namespace bale::recordio
