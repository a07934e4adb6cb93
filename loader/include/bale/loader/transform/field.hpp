// Field: a stored field that batches carry next to their images, such as a caption or an embedding.
//
// Threads: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/bytes.hpp"

namespace bale {

enum class FieldKind : std::uint8_t {
  by_name,  // by the last part of the stored field's name: txt and text, json, npy; else bytes
  text,     // UTF-8
  json,     // bytes, which whoever reads the batch parses
  array,    // a NumPy file, or a list of numbers in JSON; the same type and shape in every sample
  bytes,
  // Targets, which follow what the transform does to the image of their sample.
  mask,       // a PNG of one channel or a NumPy array; one whole number per pixel
  boxes,      // JSON or a NumPy array
  keypoints,  // the same
};

/// What the four numbers of a box are, in pixels: two corners; a corner, width and height; the center, width and
/// height.
enum class BoxFormat : std::uint8_t { xyxy, xywh, cxcywh };

/// Whether rows of this kind follow what the transform does to the image.
constexpr bool is_target(FieldKind kind) { return kind >= FieldKind::mask; }
/// Whether rows of this kind all have one size, so that a batch of them is one array.
constexpr bool is_one_array(FieldKind kind) { return kind == FieldKind::array || kind == FieldKind::mask; }

/// One box of a batch. Without a label in the stored field it is -1.
struct BoxRow {
  float box[4];  // in the format Field::box_format
  std::int64_t label;
  std::int64_t number;  // of the box in the stored field, from 0
};
/// One keypoint of a batch. `label` is COCO's visibility, or -1 if there is none.
struct KeyPointRow {
  float x;
  float y;
  std::int64_t label;
};

struct Field {
  std::string name{};    // in the batch
  std::string source{};  // the stored field: "txt", "caption.txt"
  FieldKind kind = FieldKind::by_name;
  /// A sample may lack the field: its row is empty, or an array of zeros. Otherwise such a sample is a bad one.
  bool optional = false;
  /// For arrays: the type as NumPy writes it ("<f4"), and the shape of one row. Those that are not given are those of
  /// the dataset's first sample that has the field. A sample with others is a bad one. For masks: the type is "|u1"
  /// (if none is given), "<i4" or "<i8", and the shape is that of the batch's images.
  std::string type{};
  std::optional<std::vector<std::uint64_t>> shape{};
  /// Of an array: the stored field is an object in JSON, and a row has the values of these members, or of the one.
  /// Texts of numbers count as numbers: columns of a CSV are texts.
  std::vector<std::string> members{};
  std::uint16_t fill = 0;                  // of a mask, for pixels from outside the image
  BoxFormat box_format = BoxFormat::xyxy;  // of boxes in the batch
  /// Of stored boxes. If it is not given, "bbox" is COCO's xywh, and others are xyxy.
  std::optional<BoxFormat> stored_format{};
  /// Of boxes in JSON: names of members ("iscrowd", "difficult"). Boxes of which one is true, or a number other than 0,
  /// are left out.
  std::vector<std::string> without{};
  /// Of a target: the view whose image it follows, from 0. It must be given if there are several views.
  std::optional<std::uint32_t> view{};

  friend bool operator==(const Field&, const Field&) = default;
};

/// The kind of a stored field of this name.
FieldKind field_kind_of(std::string_view source);
/// Bytes of one value of a NumPy type: "<f4" has 4. Throws `unsupported` for types that batches do not carry: they
/// carry little-endian booleans, whole numbers, floats and complex numbers.
std::uint64_t array_type_bytes(std::string_view type);

/// One field of all rows of a batch.
///
/// Lifetime: borrows from the Batch or DeviceBatch, whose arrays it has. They are host memory in any case.
struct BatchField {
  const Field* field = nullptr;  // with kind, type and shape filled in
  /// Arrays and masks: all rows, size() x shape, in C order. Else the bytes of all rows, end to end; rows of boxes and
  /// keypoints are BoxRow[] and KeyPointRow[].
  Bytes data{};
  /// Row i is data[offsets[i]] up to data[offsets[i + 1]], in bytes. Empty for arrays and masks.
  std::span<const std::int64_t> offsets{};
  /// One per row. 0: the sample does not have the field (Field::optional), or the row has no sample.
  std::span<const std::uint8_t> present{};

  /// Throws `invalid_argument` for rows that the batch does not have.
  Bytes row(std::size_t i) const;
};

/// Fills in the kind, and checks names and types. Throws `invalid_argument` and `unsupported`.
std::vector<Field> checked_fields(std::vector<Field> fields);

}  // namespace bale
