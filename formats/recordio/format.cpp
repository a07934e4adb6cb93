// Finds and reads the samples of a file, and writes the files that im2rec writes next to a shard.
#include "bale/formats/shard/format.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/codec/compression.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/container/reading/file_payload.hpp"
#include "bale/formats/container/reading/scanned_fields.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/recordio/image_record.hpp"
#include "bale/formats/recordio/record.hpp"
#include "bale/formats/recordio/recordio.hpp"
#include "bale/formats/shard/field_rule.hpp"
#include "bale/formats/shard/sample/key.hpp"

namespace bale::recordio {

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
    const ImageList list = ImageList::beside(path());
    std::vector<std::uint64_t> ids;
    std::vector<std::uint64_t> relabeled;
    RecordWalk walk(window_);
    while (walk.next(record_)) {
      const IrHeader header = read_header(window_, record_);
      ids.push_back(header.id);
      if (!list.has_labels_of(header)) relabeled.push_back(header.id);
    }
    if (const std::string odd = odd_index_beside(path(), ids.size(), list); !odd.empty()) index_.notices().warn(odd);
    const auto unlisted =
        std::find_if(ids.begin(), ids.end(), [&](std::uint64_t id) { return list.key(id) == nullptr; });
    const bool listed = unlisted == ids.end();
    if (!listed && !list.path().empty()) {
      index_.notices().warn(fmt::format("{} does not have each record once (such as {}), so keys are numbers",
                                        printable(base_name(list.path())), *unlisted));
    }
    if (listed && list.doubtful() && std::find(ids.begin(), ids.end(), *list.doubtful()) != ids.end()) {
      index_.notices().warn(fmt::format(
          "{} ends without a line end: if it was cut, the key of record {} is too short; then copy it again",
          printable(base_name(list.path())), *list.doubtful()));
    }
    if (listed && !relabeled.empty()) {
      index_.notices().warn(fmt::format(
          "{} has other labels than {} of {} records (such as {}); those of the records are delivered. `im2rec "
          "--pack-label` writes all labels of a list into the records",
          printable(base_name(list.path())), relabeled.size(), ids.size(), relabeled.front()));
    }
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

/// Reads headers and tables but no images. Keys come from the `.lst` next to the file if it lists every record.
void scan(const std::string& path, IndexBuilder& index) {
  const File file = File::open_read(path);
  FileWindow window(file);
  if (!begins_like_record(window.from(0))) refuse_compressed(path, window.from(0));
  Scan(window, index).run();
}

/// Located columns are plain. In other columns every extent says how to read it.
class PlacePayload final : public FilePayload {
 public:
  PlacePayload(const std::string& path, const ShardIndex& index) : FilePayload(path), index_(index) {}

  void read(std::uint64_t sample, std::uint32_t field, const Extent& extent, MutableBytes out) const override {
    const Place place = Place::unpack(extent.offset);
    if (place.is_plain()) return FilePayload::read(sample, field, extent, out);
    if (!place.is_text) return read_payload(file_, place.offset, place.words, out);
    const std::string text = header_text(place.offset, index_.fields()[field].name);
    if (text.size() != out.size()) {
      throw Error(ErrorCode::damaged, "header and index disagree", {.path = file_.path(), .offset = place.offset});
    }
    std::copy_n(as_bytes(text).begin(), out.size(), out.begin());
  }

  std::optional<FileRange> locate(std::uint64_t, std::uint32_t, const Extent& extent) const override {
    const Place place = Place::unpack(extent.offset);
    if (place.is_text) return FileRange{place.offset, k_part_header_bytes + k_image_header_bytes};
    return FileRange{place.offset, extent.length + place.words * k_word_bytes};
  }

 private:
  std::string header_text(std::uint64_t offset, std::string_view field) const {
    FileWindow window(file_);
    Record record;
    if (!RecordWalk(window, offset).next(record)) return "";
    const IrHeader header = read_header(window, record);
    return field == k_labels_field ? header.labels_text() : header.class_text();
  }

  const ShardIndex& index_;
};

std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index) {
  if (all_are_located(index)) return std::make_unique<FilePayload>(path);
  return std::make_unique<PlacePayload>(path, index);
}

/// A text with one line per record, made from its header.
template <typename Line>
std::string text_of_records(const std::string& path, Line line) {
  const File file = File::open_read(path);
  FileWindow window(file);
  RecordWalk walk(window);
  Record record;
  std::string text;
  while (walk.next(record)) text += line(record, read_header(window, record));
  return text;
}

/// MXIndexedRecordIO's index: number and offset of every record.
std::string record_index(const std::string& path, const ShardIndex&) {
  return text_of_records(path, [](const Record& record, const IrHeader& header) {
    return fmt::format("{}\t{}\n", header.id, record.offset);
  });
}

std::string image_list(const std::string& path, const ShardIndex& index) {
  return text_of_records(path, [&](const Record& record, const IrHeader& header) {
    const auto image = record.number < index.size() ? index.image_field(record.number) : std::nullopt;
    if (!image) fail_record(path, record, "its index knows no image");
    return list_line(header, index.key(record.number), index.fields()[*image].name);
  });
}

constexpr Sidecar k_sidecars[] = {{.suffix = ".idx", .text = record_index}, {.suffix = ".lst", .text = image_list}};

constexpr Layout k_layouts[] = {{.name = "image",
                                 .suffix = ".rec",
                                 .keeps_keys_in_file = false,
                                 .keys_name_files = true,
                                 .compresses_fields = true,
                                 .summary = "MXNet's image records, with .idx and .lst as im2rec makes them",
                                 .sidecars = k_sidecars}};

int probe(const ProbeInput& input) {
  if (begins_like_record(input.head)) return 100;
  // If the first header is damaged, the file is claimed by its name, so that the error is of this format.
  return input.path.ends_with(k_layouts[0].suffix) && input.file_bytes != 0 ? 20 : 0;
}

}  // namespace
}  // namespace bale::recordio

namespace bale {

extern const Format k_recordio_format;
const Format k_recordio_format{.name = "recordio",
                               .layouts = recordio::k_layouts,
                               .probe = recordio::probe,
                               .scan = recordio::scan,
                               .open = recordio::open,
                               .create = recordio::create,
                               .scan_survives_damage = true,
                               .field_rule = recordio::k_field_rule};

}  // namespace bale
