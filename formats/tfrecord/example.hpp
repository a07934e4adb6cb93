// Examples: reads the names, kinds and positions of the values in a record's data.
//
// protobuf's CodedInputStream walks the messages (FORMAT.md, "Example") in the file and skips large values: skipping an
// image costs no more than skipping a number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/formats/base/file_range.hpp"
#include "bale/formats/container/streams/file_window.hpp"
#include "bale/formats/tfrecord/record.hpp"

namespace bale::tfrecord {

enum class ValueKind : std::uint8_t { none, bytes, floats, integers };

struct Feature {
  /// A value up to this size is read whole. Of a larger one only the head is read, enough to recognize an image.
  static constexpr std::uint64_t k_whole_bytes = 1024;
  static constexpr std::uint64_t k_head_bytes = 64;

  std::string name;
  std::uint64_t message = 0;  // offset of its Feature message, including the length before it
  ValueKind kind = ValueKind::none;
  std::uint64_t num_values = 0;
  FileRange value{};         // bytes: the first
  std::string text{};        // bytes: the first, or its head
  std::int64_t integer = 0;  // integers: the first

  bool is_single(ValueKind wanted) const { return kind == wanted && num_values == 1; }
  bool is_whole() const { return text.size() == value.length; }
};

/// The content of a record: an Example, or a SequenceExample, whose context is read like the features of an Example.
struct RecordContent {
  std::vector<Feature> features{};      // in the record's order; a name may occur twice
  std::vector<std::string> lists{};     // names of a SequenceExample's feature lists, whose values are not read
  std::vector<std::string> left_out{};  // beginnings of names that are too long
};

/// Reads a record; false if its data is not an Example. `content` is reused.
bool read_content(FileWindow& window, const Record& record, RecordContent& content);

/// The values of a feature as a JSON array: numbers unchanged, byte strings as in json.hpp. `message` is a
/// Feature::message. Throws `damaged` if there is no Feature.
std::string feature_text(FileWindow& window, std::uint64_t message);

}  // namespace bale::tfrecord
