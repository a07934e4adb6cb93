// Examples: what a record's data is, read where it lies: names, kinds, and the place of every value.
//
// The messages (FORMAT.md, "Example") are walked by protobuf's own CodedInputStream over the file, which hops over
// large values: an image costs no more to pass than a number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/authoring/file_window.hpp"
#include "bale/formats/base/file_range.hpp"
#include "bale/formats/tfrecord/record.hpp"

namespace bale::tfrecord {

enum class ValueKind : std::uint8_t { none, bytes, floats, integers };

struct Feature {
  /// A value up to this size is read whole, of a larger one as much as tells an image from other bytes.
  static constexpr std::uint64_t k_whole_bytes = 1024;
  static constexpr std::uint64_t k_head_bytes = 64;

  std::string name;
  std::uint64_t message = 0;  // offset of its Feature message, the length in front included
  ValueKind kind = ValueKind::none;
  std::uint64_t num_values = 0;
  FileRange value{};         // bytes: the first
  std::string text{};        // bytes: the first, or its head
  std::int64_t integer = 0;  // integers: the first

  bool is_single(ValueKind wanted) const { return kind == wanted && num_values == 1; }
  bool is_whole() const { return text.size() == value.length; }
};

/// What a record holds: an Example, or a SequenceExample, whose context is read as an Example's features are.
struct RecordContent {
  std::vector<Feature> features{};      // in the record's order; a name may be there twice
  std::vector<std::string> lists{};     // names of a SequenceExample's feature lists, whose values are not read
  std::vector<std::string> left_out{};  // beginnings of names that are too long
};

/// Reads a record; false where its data is no Example. `content` is reused.
bool read_content(FileWindow& window, const Record& record, RecordContent& content);

/// The values of a feature as a JSON array: numbers as they are, byte strings as core's json_bytes.hpp has them.
/// `message` is a Feature::message; throws `damaged` where there is none.
std::string feature_text(FileWindow& window, std::uint64_t message);

}  // namespace bale::tfrecord
