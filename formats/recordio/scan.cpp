#include "bale/formats/recordio/recordio.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/codec/compression.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/container/reading/scanned_fields.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/recordio/image_list.hpp"
#include "bale/formats/recordio/image_record.hpp"
#include "bale/formats/recordio/place.hpp"
#include "bale/formats/shard/field_rule.hpp"
#include "bale/formats/shard/key.hpp"

namespace bale::recordio {
namespace {

class Scan {
 public:
  Scan(FileWindow& window, IndexBuilder& index) : window_(window), index_(index) {}

  void run() {
    const std::vector<std::string> keys = read_keys();
    RecordWalk walk(window_);
    while (walk.next(record_)) {
      if (record_.number >= keys.size()) {
        throw Error(ErrorCode::changed, "the file gained records while it was read",
                    {.path = path(), .hint = "stop the process that is writing to it"});
      }
      add_record(keys[record_.number]);
    }
    declare_places(index_);
  }

 private:
  const std::string& path() const { return window_.file().path(); }

  /// From the list next to the file if it lists every record, else the records' own numbers.
  std::vector<std::string> read_keys() {
    std::vector<std::uint64_t> ids;
    RecordWalk walk(window_);
    while (walk.next(record_)) ids.push_back(read_header(window_, record_).id);
    const ImageList list = ImageList::beside(path());
    const bool listed = std::all_of(ids.begin(), ids.end(), [&](std::uint64_t id) { return list.key(id) != nullptr; });
    ForeignKeys used;
    std::vector<std::string> keys;
    for (std::uint64_t number = 0; number < ids.size(); ++number) {
      keys.push_back(used.take(listed ? *list.key(ids[number]) : fmt::format("{:08d}", ids[number]), number));
    }
    return keys;
  }

  void add_record(const std::string& key) {
    const IrHeader header = read_header(window_, record_);
    const std::uint64_t begin = header.bytes();
    const std::uint64_t length = record_.length - begin;
    // The head is read before the table, in file order, so that the window reads each of them once.
    const std::vector<std::byte> head = read_bytes(window_, record_, begin, std::min(length, k_head_bytes));
    sample_ = index_.add_sample(key, header.class_label());
    if (const auto fields = read_table(window_, record_, header)) {
      for (const StoredField& field : *fields) set_stored(field);
    } else {
      const std::string name(image_field_name(probe_image(head).kind));
      set_stored({name, begin, static_cast<std::uint32_t>(length)});
    }
    // If the class is stored as a field, the header has it only for other readers.
    const bool has_class = has_field(k_label_field);
    if (header.has_class_field() && !has_class) set_text(k_label_field, header.class_text());
    const bool has_labels = !header.labels.empty() || (header.has_labels_field() && !has_class);
    if (has_labels && !has_field(k_labels_field)) set_text(k_labels_field, header.labels_text());
  }

  bool has_field(std::string_view name) const {
    const auto field = index_.field_id(name);
    return field && index_.extent(sample_, *field).present();
  }

  void set_stored(const StoredField& field) {
    const Place place{.offset = record_.place_of(field.position),
                      .words = record_.words_within(field.position, field.length)};
    set_field(field_of_stored_name(field.name), place, field.length);
    if (field.name == k_label_field) {
      const std::uint64_t length = std::min<std::uint64_t>(field.length, k_head_bytes);
      index_.set_label_of(sample_, read_bytes(window_, record_, field.position, length), length == field.length);
    }
  }

  /// Sets a field that is made from the header.
  void set_text(std::string_view name, const std::string& text) {
    set_field({.name = std::string(name)}, {.offset = record_.offset, .is_text = true}, text.size());
  }

  void set_field(const FieldInfo& field, const Place& place, std::uint64_t length) {
    const auto packed = place.pack();
    if (!packed) {
      throw Error(ErrorCode::unsupported, fmt::format("record {} is split into too many parts", record_.number),
                  {.path = path(), .offset = record_.offset});
    }
    set_scanned_field(index_, sample_, field, *packed, length, {.path = path(), .offset = record_.offset});
  }

  static constexpr std::uint64_t k_head_bytes = 64;

  FileWindow& window_;
  IndexBuilder& index_;
  Record record_;
  std::uint64_t sample_ = 0;
};

}  // namespace

void declare_places(IndexBuilder& index) {
  for (std::uint32_t field = 0; field < index.fields().size(); ++field) {
    bool plain = true;
    for (std::uint64_t sample = 0; plain && sample < index.size(); ++sample) {
      const Extent extent = index.extent(sample, field);
      plain = !extent.present() || Place::unpack(extent.offset).is_plain();
    }
    index.set_located(field, plain);
  }
}

void scan(const std::string& path, IndexBuilder& index) {
  const File file = File::open_read(path);
  FileWindow window(file);
  if (!begins_like_record(window.from(0))) refuse_compressed(path, window.from(0));
  Scan(window, index).run();
}

}  // namespace bale::recordio
