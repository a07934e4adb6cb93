// Finds the samples of files from other tools, by the shape of their keys and values (FORMAT.md, "Foreign files").
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/file_range.hpp"
#include "bale/formats/container/reading/scanned_fields.hpp"
#include "bale/formats/lmdb/key_shape.hpp"
#include "bale/formats/lmdb/lmdb.hpp"
#include "bale/formats/shard/sample/key.hpp"

namespace bale::lmdb {
namespace {

/// Caffe's Datum: a protobuf message with an image, encoded or raw, and a label.
struct Datum {
  FileRange data{};  // the `data` field's bytes, in the file
  std::uint32_t channels = 0;
  std::uint32_t height = 0;
  std::uint32_t width = 0;
  std::optional<std::int64_t> label{};
  bool encoded = false;
};

// caffe.proto, message Datum. Wire types: protobuf's encoding guide.
enum DatumField : std::uint64_t { k_channels = 1, k_height, k_width, k_data, k_label, k_float_data, k_encoded };
enum WireType : std::uint64_t { k_varint = 0, k_bytes = 2, k_fixed32 = 5 };

// A Datum has seven fields. The limit bounds the reads for a value that is not a Datum.
constexpr int k_max_fields = 64;

class WireReader {
 public:
  WireReader(const File& file, const FileRange& range)
      : file_(file), at_(range.offset), end_(range.offset + range.length) {}

  bool at_end() const { return at_ == end_; }
  std::uint64_t position() const { return at_; }

  bool varint(std::uint64_t& value) {
    std::array<std::byte, 10> buffer{};
    const MutableBytes bytes = MutableBytes(buffer).first(std::min<std::uint64_t>(buffer.size(), end_ - at_));
    if (bytes.empty()) return false;
    file_.read_exact(at_, bytes);
    value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const auto byte = std::to_integer<std::uint64_t>(bytes[i]);
      value |= (byte & 0x7F) << (7 * i);
      if (byte < 0x80) {
        at_ += i + 1;
        return true;
      }
    }
    return false;
  }
  bool skip(std::uint64_t bytes) {
    if (bytes > end_ - at_) return false;
    at_ += bytes;
    return true;
  }

 private:
  const File& file_;
  std::uint64_t at_;
  std::uint64_t end_;
};

std::uint32_t dimension(std::uint64_t value) {
  return value <= std::numeric_limits<std::uint32_t>::max() ? static_cast<std::uint32_t>(value) : 0;
}

/// Reads all fields except the image bytes. nullopt if the value is not a Datum with data.
std::optional<Datum> parse_datum(const File& file, const FileRange& value) {
  Datum datum;
  bool has_data = false;
  WireReader wire(file, value);
  for (int fields = 0; !wire.at_end(); ++fields) {
    std::uint64_t tag = 0;
    std::uint64_t number = 0;
    if (fields == k_max_fields || !wire.varint(tag)) return std::nullopt;
    const std::uint64_t field = tag >> 3;
    if (field < k_channels || field > k_encoded) return std::nullopt;
    switch (tag & 7) {
      case k_varint:
        if (!wire.varint(number)) return std::nullopt;
        if (field == k_channels) datum.channels = dimension(number);
        if (field == k_height) datum.height = dimension(number);
        if (field == k_width) datum.width = dimension(number);
        // int32: negative values are sign-extended to 64 bits on the wire.
        if (field == k_label) datum.label = static_cast<std::int32_t>(number);
        if (field == k_encoded) datum.encoded = number != 0;
        if (field == k_data || field == k_float_data) return std::nullopt;
        break;
      case k_bytes:
        if ((field != k_data && field != k_float_data) || !wire.varint(number)) return std::nullopt;
        if (field == k_data) {
          datum.data = {wire.position(), number};
          has_data = true;
        }
        if (!wire.skip(number)) return std::nullopt;
        break;
      case k_fixed32:
        if (field != k_float_data || !wire.skip(4)) return std::nullopt;
        break;
      default:
        return std::nullopt;
    }
  }
  if (!has_data) return std::nullopt;
  return datum;
}

class ForeignScan {
 public:
  ForeignScan(const BTree& tree, KeyShape shape, IndexBuilder& index)
      : tree_(tree), shape_(std::move(shape)), index_(index) {
    for (const std::uint64_t number : shape_.numbers()) index_.add_sample(shape_.key_of(number));
  }

  void visit(const TreeEntry& entry) {
    if (shape_.is_about_the_file(entry.key)) return;
    if (shape_.kind() == KeyShape::Kind::named) return add_value(index_.add_sample(entry.key), entry);
    const auto key = parse_numbered(entry.key);
    const bool is_paired = shape_.kind() == KeyShape::Kind::paired;
    if (!key || key->list.empty() == is_paired) return leave_out(entry, "entry that belongs to no sample");
    const auto& numbers = shape_.numbers();
    const auto place = std::lower_bound(numbers.begin(), numbers.end(), key->number);
    const bool is_known = place != numbers.end() && *place == key->number;
    const auto sample = static_cast<std::uint64_t>(place - numbers.begin());
    KeyList* const list = shape_.list(key->list);
    if (!is_known && list != nullptr && !list->has_images)
      return leave_out(entry, "entry of a number that has no image");
    if (!is_known || (is_paired && list == nullptr)) {
      throw Error(ErrorCode::changed, "a key that was not there a moment ago",
                  {.path = tree_.file().path(),
                   .key = std::string(entry.key),
                   .hint = "stop the process that is writing to it"});
    }
    if (is_paired) return add_listed(sample, *key, *list, entry);
    if (!key->extension) return add_value(sample, entry);
    const std::string name = field_name(*key->extension);
    const bool is_set = set_field(sample, name, entry.offset, entry.length, entry);
    if (is_set && name == k_label_field) index_.set_label_of(sample, entry.head, entry.head.size() == entry.length);
  }

  /// Reports lists that are shorter than the images, and counts that say otherwise.
  void finish() {
    for (const auto& [name, list] : shape_.lists()) {
      if (shape_.kind() != KeyShape::Kind::paired || list.delivered == index_.size()) continue;
      index_.notices().warn(
          fmt::format("{} has entries for {} of {} samples", printable(name), list.delivered, index_.size()));
    }
    for (const StatedCount& count : shape_.counts()) {
      if (count.value == index_.size()) continue;
      index_.notices().defect(
          fmt::format("{} is {}, and there are {} samples", printable(count.key), count.value, index_.size()),
          count.offset);
    }
  }

 private:
  void leave_out(const TreeEntry& entry, std::string_view why) { index_.notices().add(entry.key, why); }

  /// Adds a value of "image-000000012" or another list.
  void add_listed(std::uint64_t sample, const NumberedKey& key, KeyList& list, const TreeEntry& entry) {
    ++list.delivered;
    const std::string_view image = image_field_of(entry.head);
    if (list.stem.empty()) return add_value(sample, entry);
    const bool is_words = image.empty() && key.list == k_text_list;
    const std::string_view extension = !image.empty() ? image : list.has_texts ? "txt" : "bin";
    const std::string name = is_words ? "txt" : fmt::format("{}.{}", list.stem, extension);
    set_field(sample, name, entry.offset, entry.length, entry);
  }

  /// Adds a value whose key does not name its field.
  void add_value(std::uint64_t sample, const TreeEntry& entry) {
    const std::string_view image = image_field_of(entry.head);
    if (!image.empty()) {
      set_field(sample, image, entry.offset, entry.length, entry);
      return;
    }
    refuse_python_objects(entry);
    if (const auto datum = parse_datum(tree_.file(), {entry.offset, entry.length})) {
      add_datum(sample, *datum, entry);
    } else {
      set_field(sample, "bin", entry.offset, entry.length, entry);
    }
  }

  void add_datum(std::uint64_t sample, const Datum& datum, const TreeEntry& entry) {
    if (datum.label) index_.set_label(sample, *datum.label);
    std::array<std::byte, 16> buffer{};
    const MutableBytes head = MutableBytes(buffer).first(std::min<std::uint64_t>(buffer.size(), datum.data.length));
    tree_.file().read_exact(datum.data.offset, head);
    const std::string_view image = image_field_of(head);
    if (datum.encoded || !image.empty()) {
      const std::string_view name = image.empty() ? "bin" : image;
      set_field(sample, name, datum.data.offset, static_cast<std::uint32_t>(datum.data.length), entry);
    } else {
      set_field(sample, "datum", entry.offset, entry.length, entry);
      index_.set_dimensions(sample, datum.width, datum.height);
    }
  }

  /// False if the sample already has the field.
  bool set_field(std::uint64_t sample, std::string_view name, std::uint64_t offset, std::uint32_t length,
                 const TreeEntry& entry) {
    const std::uint32_t field = declare_field(index_, {.name = std::string(name)}, tree_.file().path(), entry.key);
    if (index_.extent(sample, field).present()) {
      leave_out(entry, "entry whose field another entry has taken");
      return false;
    }
    index_.set_extent(sample, field, offset, length);
    return true;
  }

  /// A pickle begins with PROTO (0x80) and its protocol number, and ends with STOP ('.'). Loading one can run any code,
  /// so bale never does.
  void refuse_python_objects(const TreeEntry& entry) const {
    const std::string_view head = as_text(entry.head);
    bool is_pickle = head.size() >= 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
    if (is_pickle) {
      std::array<std::byte, 1> last{};
      tree_.file().read_exact(entry.offset + entry.length - 1, last);
      is_pickle = last[0] == std::byte{'.'};
    }
    if (!is_pickle && !shape_.has_python_list()) return;
    throw Error(ErrorCode::unsupported,
                is_pickle
                    ? "values are Python pickles, which bale never loads"
                    : "values are objects that Python serialized (msgpack, for example), which bale does not read",
                {.path = tree_.file().path(),
                 .key = std::string(entry.key),
                 .hint = "load it in Python and write the image bytes themselves as values"});
  }

  const BTree& tree_;
  KeyShape shape_;
  IndexBuilder& index_;
};

}  // namespace

void scan_foreign(const BTree& tree, IndexBuilder& index) {
  ForeignScan scan(tree, KeyShape(tree), index);
  tree.walk(Heads::read, [&](const TreeEntry& entry) { scan.visit(entry); });
  scan.finish();
}

}  // namespace bale::lmdb
