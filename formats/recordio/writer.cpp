#include "bale/formats/recordio/recordio.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/container/writing/gather.hpp"
#include "bale/formats/container/writing/written_fields.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/recordio/image_record.hpp"
#include "bale/formats/shard/sample/key.hpp"

namespace bale::recordio {
namespace {

class Writer final : public ShardWriter {
 public:
  explicit Writer(const std::string& path) : path_(path), file_(path) {}

  void add(const SampleView& sample) override {
    check_fields(sample, k_field_rule, path_);
    lay_out(sample);
    if (payload_.size() > k_max_payload_bytes) {
      refuse(sample, fmt::format("a record of {} bytes, 512 MiB or more", payload_.size()));
    }
    record_ = {.offset = file_.size(), .length = payload_.size()};
    find_magic(payload_.parts(), record_.splits);
    // Before anything is written: a sample that cannot be read back must not be written in part.
    places_.clear();
    for (const StoredField& field : stored_) place(sample, field.name, place_of(field), field.length);
    if (class_in_header_) {
      place(sample, k_label_field, {.offset = record_.offset, .is_text = true},
            sample.find(k_label_field)->bytes.size());
    }
    if (labels_in_header_) {
      place(sample, k_labels_field, {.offset = record_.offset, .is_text = true},
            sample.find(k_labels_field)->bytes.size());
    }
    write_parts();
    for (const auto& [name, packed, length] : places_) extents_.add(name, packed, length);
    extents_.end_sample();
  }

  void finish(IndexBuilder& index) override {
    file_.close();
    extents_.set_on(index, path_);
    declare_places(index);
  }

 private:
  struct Placed {
    std::string_view name;
    std::uint64_t packed;
    std::uint64_t length;
  };

  [[noreturn]] void refuse(const SampleView& sample, std::string_view why, std::string_view hint = {}) const {
    throw Error(ErrorCode::invalid_argument, why,
                {.path = path_, .key = std::string(sample.key), .hint = std::string(hint)});
  }

  /// Builds the payload: header, image, and, if the header cannot hold the rest, the other fields and their table.
  void lay_out(const SampleView& sample) {
    const auto image = std::find_if(sample.fields.begin(), sample.fields.end(), [](const FieldView& field) {
      return is_image_field(field_of_stored_name(field.name).name);
    });
    if (image == sample.fields.end()) refuse(sample, "an image record needs an image", "choose another format");
    const IrHeader header = header_of(sample);
    header_ = encode_header(header);

    payload_.clear();
    stored_.clear();
    payload_.add(header_);
    store(*image);
    for (const FieldView& field : sample.fields) {
      const bool in_header =
          (class_in_header_ && field.name == k_label_field) || (labels_in_header_ && field.name == k_labels_field);
      if (&field != &*image && !in_header) store(field);
    }
    // A single image needs no table if its first bytes give the name of its field.
    if (stored_.size() == 1 && image_field_name(probe_image(image->bytes).kind) == image->name) return;
    table_ = encode_table(stored_);
    payload_.add(table_);
  }

  void store(const FieldView& field) {
    stored_.push_back({std::string(field.name), payload_.size(), static_cast<std::uint32_t>(field.bytes.size())});
    payload_.add(field.bytes);
  }

  /// Makes the header. A field that the header holds completely is not stored again.
  IrHeader header_of(const SampleView& sample) {
    IrHeader header{.id = extents_.num_samples()};
    const FieldView* cls = sample.find(k_label_field);
    const FieldView* labels = sample.find(k_labels_field);
    const auto several = labels != nullptr ? parse_labels(as_text(labels->bytes)) : std::nullopt;
    labels_in_header_ = several.has_value();
    if (several) header.labels = *several;
    if (fits_header(sample.label)) header.label = static_cast<float>(sample.label);
    class_in_header_ = cls != nullptr && header.has_class_field() && as_text(cls->bytes) == header.class_text();
    return header;
  }

  Place place_of(const StoredField& field) const {
    return {.offset = record_.place_of(field.position), .words = record_.words_within(field.position, field.length)};
  }

  void place(const SampleView& sample, std::string_view name, const Place& place, std::uint64_t length) {
    const auto packed = place.pack();
    if (!packed) refuse(sample, "a record that would be split into too many parts");
    places_.push_back({name, *packed, length});
  }

  /// Writes one part per range of the payload between split numbers, each with its header, and the padding.
  void write_parts() {
    const std::vector<std::uint64_t>& splits = record_.splits;
    heads_.clear();
    heads_.reserve(splits.size() + 1);  // the spans point into it
    spans_.clear();
    for (std::size_t part = 0; part <= splits.size(); ++part) {
      const bool first = part == 0;
      const bool last = part == splits.size();
      const std::uint64_t begin = first ? 0 : splits[part - 1] + k_word_bytes;
      const std::uint64_t end = last ? record_.length : splits[part];
      const PartKind kind =
          first ? (last ? PartKind::whole : PartKind::first) : (last ? PartKind::last : PartKind::middle);
      heads_.push_back({k_magic, length_word(kind, end - begin)});
      spans_.push_back(as_bytes({reinterpret_cast<const char*>(heads_.back().data()), k_part_header_bytes}));
      append_stretch(begin, end);
    }
    static constexpr std::array<std::byte, k_word_bytes> k_zeros{};
    spans_.push_back(Bytes(k_zeros).first(static_cast<std::size_t>(-record_.length % k_word_bytes)));
    file_.append(spans_);
  }

  /// Adds the payload's bytes from `begin` to `end` to the spans.
  void append_stretch(std::uint64_t begin, std::uint64_t end) {
    std::uint64_t at = 0;
    for (const Bytes part : payload_.parts()) {
      const std::uint64_t from = std::clamp(begin, at, at + part.size());
      const std::uint64_t to = std::clamp(end, at, at + part.size());
      if (from < to)
        spans_.push_back(part.subspan(static_cast<std::size_t>(from - at), static_cast<std::size_t>(to - from)));
      at += part.size();
    }
  }

  std::string path_;
  AppendFile file_;
  WrittenExtents extents_;

  // Of the sample being added. Members, to reuse their memory.
  Gather payload_;
  Record record_;
  bool class_in_header_ = false;
  bool labels_in_header_ = false;
  std::vector<std::byte> header_;
  std::vector<std::byte> table_;
  std::vector<StoredField> stored_;
  std::vector<Placed> places_;
  std::vector<std::array<std::uint32_t, 2>> heads_;  // magic number and length word of every part
  std::vector<Bytes> spans_;
};

}  // namespace

std::unique_ptr<ShardWriter> create(const WriterOptions& options) {
  check_format_options(options, {});
  return std::make_unique<Writer>(options.path);
}

}  // namespace bale::recordio
