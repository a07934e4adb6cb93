#include "bale/formats/tfrecord/record.hpp"

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/container/writing/gather.hpp"
#include "bale/formats/container/writing/written_fields.hpp"
#include "bale/formats/shard/sample/key.hpp"

namespace bale::tfrecord {
namespace {

using google::protobuf::io::CodedOutputStream;
using Buffer = std::vector<std::byte>;

/// Protobuf messages are smaller than 2 GiB. 1 MiB is left for what surrounds the fields.
constexpr std::uint64_t k_max_example_bytes = std::numeric_limits<std::int32_t>::max() - (std::uint64_t{1} << 20);

// The field numbers that are written: 1 of a message (Features, map entry, key, the single value of a list), 2 of an
// entry (Feature), and those of the lists in a Feature. Each field has a length before its content.
constexpr int k_first = 1;
constexpr int k_entry_value = 2;
constexpr int k_bytes_list = 1;
constexpr int k_int64_list = 3;

/// Size of a field with `length` bytes of content. Field numbers are small, so a tag is one byte.
std::uint64_t field_bytes(std::uint64_t length) { return 1 + CodedOutputStream::VarintSize64(length) + length; }

void append_varint(std::uint64_t value, Buffer& out) {
  std::uint8_t bytes[10];
  const std::uint8_t* end = CodedOutputStream::WriteVarint64ToArray(value, bytes);
  const auto* begin = reinterpret_cast<const std::byte*>(bytes);
  out.insert(out.end(), begin, begin + (end - bytes));
}

/// Tag and length of a length-delimited field.
void append_head(int field, std::uint64_t length, Buffer& out) {
  constexpr unsigned k_delimited = 2;
  append_varint(static_cast<unsigned>(field) << 3 | k_delimited, out);
  append_varint(length, out);
}

/// A feature with one value: bytes, or a number.
struct Entry {
  std::string_view name;
  Bytes bytes{};
  std::optional<std::int64_t> number{};
  std::optional<std::string_view> field{};  // stored name of the sample's field, if it is one

  std::uint64_t value_bytes() const {
    return number ? CodedOutputStream::VarintSize64(static_cast<std::uint64_t>(*number)) : bytes.size();
  }
  std::uint64_t feature_bytes() const { return field_bytes(field_bytes(value_bytes())); }
  std::uint64_t entry_bytes() const { return field_bytes(name.size()) + field_bytes(feature_bytes()); }

  /// Appends everything before the value.
  void append_head_to(Buffer& out) const {
    append_head(k_first, entry_bytes(), out);
    append_head(k_first, name.size(), out);
    out.insert(out.end(), as_bytes(name).begin(), as_bytes(name).end());
    append_head(k_entry_value, feature_bytes(), out);
    append_head(number ? k_int64_list : k_bytes_list, field_bytes(value_bytes()), out);
    append_head(k_first, value_bytes(), out);
  }
};

class Writer final : public ShardWriter {
 public:
  Writer(const WriterOptions& options, std::int64_t label_base)
      : path_(options.path), class_names_(options.class_names), label_base_(label_base), file_(options.path) {}

  void add(const SampleView& sample) override {
    check_fields(sample, k_field_rule, path_);
    make_entries(sample);
    std::uint64_t features = 0;
    for (const Entry& entry : entries_) features += field_bytes(entry.entry_bytes());
    const std::uint64_t length = field_bytes(features);
    if (length > k_max_example_bytes) refuse(sample, fmt::format("an example of {} bytes, 2 GiB or more", length));

    gather_.clear();
    gather_.add(make_header(length));
    gather_.add_by([&](Buffer& out) { append_head(k_first, features, out); });
    for (const Entry& entry : entries_) {
      gather_.add_by([&](Buffer& out) {
        entry.append_head_to(out);
        if (entry.number) append_varint(static_cast<std::uint64_t>(*entry.number), out);
      });
      if (entry.field) extents_.add(*entry.field, file_.size() + gather_.size(), entry.bytes.size());
      gather_.add(entry.bytes);
    }
    const std::uint32_t crc = masked(data_checksum());
    gather_.add(as_bytes({reinterpret_cast<const char*>(&crc), sizeof crc}));
    file_.append(gather_.parts());
    extents_.end_sample();
  }

  void finish(IndexBuilder& index) override {
    file_.close();
    extents_.set_on(index, path_);
  }

 private:
  [[noreturn]] void refuse(const SampleView& sample, std::string_view why) const {
    throw Error(ErrorCode::invalid_argument, why, {.path = path_, .key = std::string(sample.key)});
  }

  /// The sample's image for other readers: the first field with an image's name.
  static const FieldView* image_of(const SampleView& sample) {
    for (const FieldView& field : sample.fields) {
      if (is_image_field(field.name)) return &field;
    }
    return nullptr;
  }

  /// Small features come first and the image last, so that one read gets all small features of a record.
  void make_entries(const SampleView& sample) {
    const FieldView* image = image_of(sample);
    entries_.clear();
    entries_.push_back({.name = k_key, .bytes = as_bytes(sample.key)});
    if (sample.label != k_no_label) add_label(sample);
    if (image != nullptr) {
      filename_ = fmt::format("{}.{}", sample.key.substr(sample.key.rfind('/') + 1), image->name);
      format_ = image_format(image->name);
      entries_.push_back({.name = k_filename, .bytes = as_bytes(filename_)});
      entries_.push_back({.name = k_format, .bytes = as_bytes(format_)});
      if (sample.width != 0) {
        entries_.push_back({.name = k_height, .number = sample.height});
        entries_.push_back({.name = k_width, .number = sample.width});
      }
    }
    for (const FieldView& field : sample.fields) {
      if (&field == image) continue;
      entries_.push_back({.name = field.name, .bytes = field.bytes, .field = field.name});
    }
    if (image != nullptr) entries_.push_back({.name = k_encoded, .bytes = image->bytes, .field = image->name});
  }

  void add_label(const SampleView& sample) {
    std::int64_t number = 0;
    if (__builtin_add_overflow(sample.label, label_base_, &number)) {
      refuse(sample, fmt::format("label {} is too large for a label base of {}", sample.label, label_base_));
    }
    if (label_base_ != 0 && sample.find(k_label_field) == nullptr) {
      refuse(sample, fmt::format("a label base needs the label in a field {}", k_label_field));
    }
    entries_.push_back({.name = k_label, .number = number});
    if (sample.label >= 0 && static_cast<std::uint64_t>(sample.label) < class_names_.size()) {
      const std::string& name = class_names_[static_cast<std::size_t>(sample.label)];
      entries_.push_back({.name = k_label_text, .bytes = as_bytes(name)});
    }
  }

  /// The checksum of the gathered bytes without the header.
  std::uint32_t data_checksum() {
    std::uint32_t crc = 0;
    std::size_t header = k_header_bytes;  // lies inside the first part, which holds copied bytes
    for (const Bytes part : gather_.parts()) {
      crc = crc32c(part.subspan(header), crc);
      header = 0;
    }
    return crc;
  }

  std::string path_;
  std::vector<std::string> class_names_;
  std::int64_t label_base_;
  AppendFile file_;
  WrittenExtents extents_;

  // Of the sample being added. Members, to reuse their memory.
  std::vector<Entry> entries_;
  std::string filename_;
  std::string format_;
  Gather gather_;
};

std::int64_t label_base_in(const WriterOptions& options) {
  using Limits = std::numeric_limits<std::int64_t>;
  check_format_options(options, {"label_base"});
  return number_option(options, "label_base", 0, Limits::min(), Limits::max());
}

}  // namespace

std::unique_ptr<ShardWriter> create(const WriterOptions& options) {
  return std::make_unique<Writer>(options, label_base_in(options));
}

}  // namespace bale::tfrecord
