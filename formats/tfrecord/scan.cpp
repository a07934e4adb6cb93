#include "bale/formats/tfrecord/record.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/codec/compression.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/container/reading/scanned_fields.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/shard/field_rule.hpp"
#include "bale/formats/shard/partial_scan.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/formats/tfrecord/example.hpp"

namespace bale::tfrecord {
namespace {

/// Other tools' names for the file name and the label, slim's names first.
constexpr std::string_view k_filenames[] = {k_filename, "filename", "file_name"};
constexpr std::string_view k_labels[] = {k_label, "label"};

std::string_view image_field_of(const Feature& feature) {
  const ImageKind kind = probe_image(as_bytes(feature.text)).kind;
  return kind == ImageKind::unknown ? std::string_view{} : image_field_name(kind);
}

class Scan {
 public:
  Scan(FileWindow& window, IndexBuilder& index) : window_(window), index_(index) {}

  void run() {
    try {
      walk_records();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::damaged) make_lists();  // what was found before may still be read
      throw;
    }
    make_lists();
  }

 private:
  void walk_records() {
    RecordWalk walk(window_);
    while (walk.next(record_)) {
      if (!read_content(window_, record_, content_)) refuse_record();
      note_unread_features();
      settle_names();
      has_fields_ = false;
      const Feature* key = find(k_key, ValueKind::bytes);
      if (key != nullptr) {
        add_ours(*key);
      } else {
        add_foreign();
      }
      // If the sample has no field, no later read compares the checksum.
      if (!has_fields_) check_data(window_.file(), record_, buffer_);
    }
  }

  /// The data is not an Example: either it is damaged, or it is another message.
  [[noreturn]] void refuse_record() {
    check_data(window_.file(), record_, buffer_);
    throw Error(ErrorCode::unsupported, fmt::format("record {} is not a tf.train.Example", record_.number),
                {.path = window_.file().path(), .offset = record_.offset, .hint = "bale reads examples with images"});
  }

  void leave_out(std::string_view name, std::string_view why) {
    index_.notices().add(fmt::format("record {}: {}", record_.number, name), why);
  }

  void note_unread_features() {
    for (const std::string& name : content_.lists) leave_out(name, "feature list of a SequenceExample");
    for (const std::string& name : content_.left_out) leave_out(name, "feature with a name that is too long");
  }

  /// Sorts by name. Of features with the same name the last one counts, as in every reader of protobuf's maps.
  void settle_names() {
    std::stable_sort(features_.begin(), features_.end(),
                     [](const Feature& a, const Feature& b) { return a.name < b.name; });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < features_.size(); ++i) {
      const bool again = i + 1 < features_.size() && features_[i].name == features_[i + 1].name;
      if (again) {
        leave_out(features_[i].name, "earlier value of a repeated feature");
      } else if (kept++ != i) {
        features_[kept - 1] = std::move(features_[i]);
      }
    }
    features_.resize(kept);
  }

  const std::string& path() const { return window_.file().path(); }

  /// The feature of that name with a single value of that kind.
  const Feature* find(std::string_view name, ValueKind kind) const {
    const auto found =
        std::lower_bound(features_.begin(), features_.end(), name,
                         [](const Feature& feature, std::string_view wanted) { return feature.name < wanted; });
    const bool there = found != features_.end() && found->name == name && found->is_single(kind);
    return there ? &*found : nullptr;
  }

  template <std::size_t n>
  const Feature* find_any(const std::string_view (&names)[n], ValueKind kind) const {
    for (const std::string_view name : names) {
      if (const Feature* feature = find(name, kind)) return feature;
    }
    return nullptr;
  }

  void set_field(const FieldInfo& field, std::uint64_t offset, std::uint64_t length) {
    set_scanned_field(index_, sample_, field, offset, length, {.path = path(), .offset = record_.offset});
    has_fields_ = true;
  }

  bool has_field(const FieldInfo& field) const {
    const auto id = index_.stored_field_id(field.stored_name());
    return id && index_.extent(sample_, *id).present();
  }

  void set_field(const FieldInfo& field, const Feature& feature) {
    set_field(field, feature.value.offset, feature.value.length);
    // In our files the label feature may have a label base added. This text is the label as it was packed.
    if (field.name == k_label_field) index_.set_label_of(sample_, as_bytes(feature.text), feature.is_whole());
  }

  /// Name of the image's field: by `image/format`, else by its first bytes.
  std::string image_field(const Feature& image) const {
    const Feature* format = find(k_format, ValueKind::bytes);
    const std::string named = format != nullptr ? field_name(format->text) : std::string();
    if (is_image_field(named)) return named;
    const std::string_view seen = image_field_of(image);
    return seen.empty() ? "bin" : std::string(seen);
  }

  std::string text_of(const Feature& feature) const {
    if (feature.is_whole()) return feature.text;
    std::string text(static_cast<std::size_t>(feature.value.length), '\0');
    window_.file().read_exact(feature.value.offset, {reinterpret_cast<std::byte*>(text.data()), text.size()});
    return text;
  }

  void add_ours(const Feature& key) {
    sample_ = index_.add_sample(keys_.take(text_of(key), record_.number));
    if (const Feature* label = find(k_label, ValueKind::integers)) index_.set_label(sample_, label->integer);
    for (const Feature& feature : features_) {
      if (&feature == &key || !feature.is_single(ValueKind::bytes)) continue;
      if (feature.name == k_encoded) {
        set_field({.name = image_field(feature)}, feature);
      } else if (feature.name.find('/') == std::string::npos) {
        set_field(field_of_stored_name(feature.name), feature);
      }
    }
  }

  void add_foreign() {
    const Feature* filename = find_any(k_filenames, ValueKind::bytes);
    const Feature* label = find_any(k_labels, ValueKind::integers);
    const Feature* image = find(k_encoded, ValueKind::bytes);
    for (auto other = features_.begin(); image == nullptr && other != features_.end(); ++other) {
      if (other->is_single(ValueKind::bytes) && !image_field_of(*other).empty()) image = &*other;
    }
    sample_ = index_.add_sample(
        keys_.take(filename != nullptr ? key_of_file(text_of(*filename)) : std::string(), record_.number));
    if (label != nullptr) index_.set_label(sample_, label->integer);
    if (image != nullptr) set_field({.name = image_field(*image)}, *image);
    const bool is_seen = image != nullptr && !image_field_of(*image).empty();  // its header says its size
    for (const Feature& feature : features_) {
      const bool is_size = feature.name == k_height || feature.name == k_width;
      const bool said = &feature == filename || &feature == label || &feature == image || feature.name == k_format ||
                        (is_seen && is_size && feature.is_single(ValueKind::integers));
      if (!said && feature.num_values != 0) add_other(feature, label != nullptr);
    }
  }

  /// A feature of one byte string is a field of these bytes. Any other, and so each of its name in the file, is a field
  /// of a JSON array. Next to another feature that is the label, one that would be the field `cls` is `cls_1`.
  void add_other(const Feature& feature, bool has_label) {
    const bool is_single = feature.is_single(ValueKind::bytes);
    FieldInfo field = field_of(feature.name, !is_single);
    const bool is_apart = has_label && field.name == k_label_field;
    if (is_apart) field.name += "_1";
    Others& others = others_[is_apart ? field.name : feature.name];
    others.any_list |= !is_single;
    if (has_field(field)) {
      leave_out(feature.name, "feature whose field another feature has taken");
    } else if (is_single) {
      set_field(field, feature);
      others.singles.push_back({sample_, feature.message});
    } else {
      set_field(field, feature.message, feature_text(window_, feature.message).size());
    }
  }

  static FieldInfo field_of(const std::string& feature, bool is_list) {
    return {.name = field_of_feature(feature) + (is_list ? ".json" : ""), .located = !is_list};
  }

  /// Makes the features of one byte string arrays if those of other records are.
  void make_lists() {
    for (const auto& [name, others] : others_) {
      if (!others.any_list) continue;
      const FieldInfo list = field_of(name, true);
      for (const auto& [sample, message] : others.singles) {
        sample_ = sample;
        index_.clear_extent(sample, *index_.stored_field_id(field_of(name, false).stored_name()));
        if (has_field(list)) {
          index_.notices().add(fmt::format("{}: {}", index_.key(sample), name),
                               "feature whose field another feature has taken");
        } else {
          set_scanned_field(index_, sample, list, message, feature_text(window_, message).size(), {.path = path()});
        }
      }
    }
  }

  /// The features of one name that are not the key, the label or the image.
  struct Others {
    struct Single {
      std::uint64_t sample;
      std::uint64_t message;  // Feature::message
    };
    std::vector<Single> singles{};
    bool any_list = false;
  };

  FileWindow& window_;
  IndexBuilder& index_;
  ForeignKeys keys_;
  Record record_;
  RecordContent content_;
  std::vector<Feature>& features_ = content_.features;
  std::uint64_t sample_ = 0;
  bool has_fields_ = false;  // of the current sample
  std::map<std::string, Others> others_;
  std::vector<std::byte> buffer_;
};

}  // namespace

void scan(const std::string& path, IndexBuilder& index) {
  const File file = File::open_read(path);
  FileWindow window(file);
  if (!has_good_header(window.from(0))) refuse_compressed(path, window.from(0));
  scan_or_salvage(index, [&] { Scan(window, index).run(); });
}

}  // namespace bale::tfrecord
