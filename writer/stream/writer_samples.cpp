#include "bale/writer/stream/writer_samples.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/names/known_names.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/writer/plan/plan.hpp"
#include "bale/writer/stream/sample_log.hpp"

namespace bale {
namespace {

constexpr std::size_t k_max_key_bytes = 4096;

bool has_part(std::string_view path, std::string_view part) {
  for (;;) {
    const std::size_t slash = path.find('/');
    if (path.substr(0, slash) == part) return true;
    if (slash == std::string_view::npos) return false;
    path.remove_prefix(slash + 1);
  }
}

/// Empty if the key is fine.
std::string_view why_key_is_refused(const Layout& layout, std::string_view key) {
  if (key.empty()) return "an empty key";
  if (key.size() > k_max_key_bytes) return "a key of more than 4096 bytes";
  if (key.find('\0') != std::string_view::npos) return "a key with a NUL";
  if (!layout.keys_name_files) return {};
  if (key.starts_with('/') || key.ends_with('/')) return "a key that starts or ends with a slash names no file";
  if (has_part(key, "..") || has_part(key, ".")) return "a key with the part \".\" or \"..\" names no file of its own";
  return {};
}

}  // namespace

std::string stored_key(const Layout& layout, std::string_view key) {
  const std::string_view why = why_key_is_refused(layout, key);
  if (!why.empty()) throw Error(ErrorCode::invalid_argument, why, {.key = std::string(key.substr(0, 200))});
  return layout.keys_name_files ? encode_key(key) : std::string(key);
}

const std::string& FieldNames::stored(std::string_view name, const std::string& key) {
  for (const Name& known : names_) {
    if (known.given == name) return known.stored;
  }
  std::string stored = field_name(name);
  if (!is_field_name(stored)) {
    throw Error(ErrorCode::invalid_argument, fmt::format("\"{}\" is not a valid name of a field", printable(name)),
                {.key = key, .hint = "use an extension, such as jpg, json or mask.png"});
  }
  require_room_for_field(options_, stored);
  return names_.emplace_back(Name{std::string(name), std::move(stored)}).stored;
}

CheckedSample::CheckedSample(const PackOptions& options, const std::vector<std::string>& classes, FieldNames& names,
                             std::string_view key, std::span<const FieldView> fields, std::int64_t label)
    : key_(stored_key(*options.format.layout, key)), is_encoded_(key_ != key), label_(label) {
  take_fields(names, fields);
  if (fields_.empty()) refuse("a sample without fields", "give at least one, such as the image; a label alone is none");
  take_label(classes);
  if (options.on_error != OnError::fail) return;
  const std::string why = why_image_is_refused({.key = key_, .label = label_, .fields = fields_});
  if (!why.empty()) throw Error(ErrorCode::damaged, why, {.key = key_});
}

void CheckedSample::take_fields(FieldNames& names, std::span<const FieldView> fields) {
  fields_.reserve(fields.size() + 1);  // the label
  for (const FieldView& field : fields) {
    const std::string& name = names.stored(field.name, key_);
    const auto has_it = [&](const FieldView& before) { return before.name == name; };
    if (std::any_of(fields_.begin(), fields_.end(), has_it)) refuse(fmt::format("two fields \"{}\"", name));
    if (field.bytes.size() > std::numeric_limits<std::uint32_t>::max()) {
      refuse(fmt::format("field \"{}\" has {} bytes, 4 GiB or more", name, field.bytes.size()));
    }
    fields_.push_back({name, field.bytes});
  }
}

void CheckedSample::take_label(const std::vector<std::string>& classes) {
  const auto cls =
      std::find_if(fields_.begin(), fields_.end(), [](const FieldView& field) { return field.name == k_label_field; });
  if (cls != fields_.end()) {
    const std::int64_t given = parse_label(cls->bytes);
    if (label_ == k_no_label) label_ = given;
    if (given == k_no_label && !cls->bytes.empty()) {
      refuse(
          fmt::format("the field \"cls\" is \"{}\", not a whole number", printable(as_text(cls->bytes).substr(0, 40))),
          "give the number or name of a class as the label, or call the field class.txt");
    }
    if (label_ != given) refuse(fmt::format("the label is {}, and the field \"cls\" says otherwise", label_));
  }
  if (label_ != k_no_label && !classes.empty() && (label_ < 0 || label_ >= static_cast<std::int64_t>(classes.size()))) {
    refuse(
        fmt::format("label {} of {} classes", label_, classes.size()),
        label_ < 0 ? "leave the label out if the sample has none: in Python it is None" : "labels are counted from 0");
  }
  if (label_ != k_no_label && !classes.empty() && classes[static_cast<std::size_t>(label_)].empty()) {
    refuse(fmt::format("label {}, which is not a class: it has no name", label_), "name it in `classes`");
  }
  if (label_ != k_no_label && cls == fields_.end()) {
    digits_ = fmt::to_string(label_);
    fields_.push_back({k_label_field, as_bytes(digits_)});
  }
}

std::uint64_t CheckedSample::payload_bytes() const {
  std::uint64_t sum = 0;
  for (const FieldView& field : fields_) sum += field.bytes.size();
  return sum;
}

void CheckedSample::refuse(std::string_view why, std::string_view hint) const {
  throw Error(ErrorCode::invalid_argument, why, {.key = key_, .hint = std::string(hint)});
}

}  // namespace bale
