// Image records: what a record's payload is: a header, labels, the image, and fields that fit nowhere else (FORMAT.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/recordio/record.hpp"

namespace bale::recordio {

inline constexpr std::size_t k_image_header_bytes = 24;
inline constexpr std::size_t k_label_bytes = 4;

/// Field that several labels of one sample are delivered as: a JSON array of numbers.
inline constexpr std::string_view k_labels_field = "labels.json";

/// What im2rec writes as the label of an image that has none is up to its list; ours is this.
inline constexpr float k_unlabeled = -1;

struct IrHeader {
  float label = k_unlabeled;    // where there are no `labels`
  std::vector<float> labels{};  // as many as the header's flag says
  std::uint64_t id = 0;

  std::size_t bytes() const { return k_image_header_bytes + labels.size() * k_label_bytes; }
  /// The label of the sample: a class number; k_no_label where it is none.
  std::int64_t class_label() const;
  /// What `cls` is made of: a class number that is alone in the header.
  bool has_class_field() const { return labels.empty() && class_label() >= 0; }
  /// What `labels.json` is made of: labels that are no class number.
  bool has_labels_field() const { return !labels.empty() || (!has_class_field() && label != k_unlabeled); }
  std::string class_text() const;
  std::string labels_text() const;
};

/// Whether a header can say this class number exactly: a float holds whole numbers up to 2^24.
bool fits_header(std::int64_t label);

/// The labels whose labels_text() is `text`; nullopt where there are none such, or a header would say a class instead.
std::optional<std::vector<float>> parse_labels(std::string_view text);

std::vector<std::byte> encode_header(const IrHeader& header);

/// Reads the header of a record. Throws `damaged` where the record is too short for it.
IrHeader read_header(FileWindow& window, const Record& record);

/// A field behind the header, by its stored name.
struct StoredField {
  std::string name;
  std::uint64_t position = 0;  // in the payload
  std::uint32_t length = 0;
};

/// The table behind fields that lie end to end in front of it.
std::vector<std::byte> encode_table(const std::vector<StoredField>& fields);

/// The fields of a record that ends with a table of ours, the image first; nullopt for one that does not: all of it is
/// the image. Throws `damaged` for a table that makes no sense.
std::optional<std::vector<StoredField>> read_table(FileWindow& window, const Record& record, const IrHeader& header);

}  // namespace bale::recordio
