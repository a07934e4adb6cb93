// ColumnScan: what the scans of formats share in which a sample is one value per column (MDS, LitData, beton).
//
// For one thread. What it is made of must outlive it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/container/reading/converted_payload.hpp"
#include "bale/formats/container/reading/scanned_fields.hpp"
#include "bale/formats/container/streams/file_window.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/shard/sample.hpp"
#include "bale/formats/shard/sample/key.hpp"

namespace bale {

// What the columns of another program's samples are to bale: by their names, and by what their values are.
//
// Pure functions; safe in any thread.

/// What a column is in a sample.
enum class Role : std::uint8_t { field, key, file_name, label, image };

/// What the columns of all these formats have. Each format's `Column` is derived from it.
struct ForeignColumn {
  std::string name{};      // as the file has it
  std::string encoding{};  // how it stores values, as the file has it: "jpeg", "no_header_tensor:18"
  std::string stem{};      // of field names: lower case, '_' instead of '/'
  Role role = Role::field;
  std::string type{};                  // of numbers, as NumPy writes it: "<i8"; empty if each value says it
  std::vector<std::uint64_t> shape{};  // of arrays; empty if each value says it
  bool is_plain = false;               // the field is called by the stem alone
};

/// The stem for a name; `otherwise` for one without a letter.
inline std::string stem_of(std::string_view name, std::string_view otherwise) {
  std::string stem = field_name(name);
  std::replace(stem.begin(), stem.end(), '/', '_');
  return stem.empty() ? std::string(otherwise) : stem;
}

/// Gives each column a stem of its own, by its number if need be. Returns the first for which there is none; else null.
template <typename Column>
const Column* name_stems(std::vector<Column>& columns) {
  std::set<std::string> taken;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    Column& column = columns[i];
    column.stem = stem_of(column.name, std::to_string(i));
    if (taken.contains(column.stem)) column.stem = fmt::format("{}_{}", column.stem, i);
    if (!taken.insert(column.stem).second) return &column;
  }
  return nullptr;
}

inline constexpr std::array<std::string_view, 2> k_key_names{"__key__", "key"};
inline constexpr std::array<std::string_view, 4> k_file_names{"path", "file_name", "filename", "file"};
inline constexpr std::array<std::string_view, 5> k_label_names{"label", "class", "target", "y", "cls"};
inline constexpr std::array<std::string_view, 8> k_image_names{"image", "img", "picture", "jpg",
                                                               "jpeg",  "png", "x",       "data"};

/// Gives the role to the first column that has one of the names, the first name first, and fits. False if none does.
template <typename Column, typename Fits>
bool assign_role(std::vector<Column>& columns, std::span<const std::string_view> names, Role role, Fits fits) {
  for (const std::string_view name : names) {
    for (Column& column : columns) {
      if (column.role == Role::field && column.stem == name && fits(column)) {
        column.role = role;
        return true;
      }
    }
  }
  return false;
}

/// The same for the first column that fits, whatever its name.
template <typename Column, typename Fits>
bool assign_first(std::vector<Column>& columns, Role role, Fits fits) {
  for (Column& column : columns) {
    if (column.role != Role::field || !fits(column)) continue;
    column.role = role;
    return true;
  }
  return false;
}

/// The image: a column that says that it has images, one with an image's name first; else bytes with such a name, then
/// an array with such a name, then the first bytes of all.
template <typename Column, typename SaysSo, typename HasBytes, typename IsArray>
void assign_image(std::vector<Column>& columns, SaysSo says_so, HasBytes has_bytes, IsArray is_array) {
  assign_role(columns, k_image_names, Role::image, says_so) || assign_first(columns, Role::image, says_so) ||
      assign_role(columns, k_image_names, Role::image, has_bytes) ||
      assign_role(columns, k_image_names, Role::image, is_array) || assign_first(columns, Role::image, has_bytes);
}

/// Name of the field for values of a column, or of those that end with `extension` ("jpg"), which is not repeated. The
/// image of a sample is called by the extension alone.
inline std::string field_of(const ForeignColumn& column, std::string_view extension) {
  const std::string& stem = column.stem;
  if (extension.empty() || stem == extension || column.is_plain) return stem;
  if (column.role == Role::image) return std::string(extension);
  const bool has_extension = stem.ends_with(fmt::format(".{}", extension));
  return has_extension ? stem : fmt::format("{}.{}", stem, extension);
}

/// The extensions of bytes, by what they are: none, or that of an image.
inline std::vector<std::string_view> endings_of_bytes() {
  std::vector<std::string_view> endings{""};
  endings.insert(endings.end(), image_fields().begin(), image_fields().end());
  return endings;
}

/// Gives fields different names. Bytes that may be called as another column's field have no extension. Any other column
/// is numbered if it may be called as one before it. The image comes first, and `cls` is the label's. `endings_of`
/// returns the extensions that field_of() may get for a column, of bytes none first.
template <typename Column, typename EndingsOf>
void keep_fields_apart(std::vector<Column>& columns, EndingsOf endings_of) {
  std::map<std::string, Column*, std::less<>> placed;  // by stem
  Column* image = nullptr;
  const auto gives = [&](const Column& column, std::string_view name) {
    if (column.role == Role::image && is_image_field(column.stem)) return column.stem == name;
    const std::vector<std::string_view> endings = endings_of(column);
    return std::any_of(endings.begin(), endings.end(),
                       [&](std::string_view ending) { return field_of(column, ending) == name; });
  };
  const auto giver_of = [&](std::string_view name) -> Column* {
    if (image != nullptr && gives(*image, name)) return image;
    for (const std::string_view stem : {name, name.substr(0, name.rfind('.'))}) {
      const auto found = placed.find(stem);
      if (found != placed.end() && gives(*found->second, name)) return found->second;
    }
    return nullptr;
  };
  const bool has_label =
      std::any_of(columns.begin(), columns.end(), [](const Column& column) { return column.role == Role::label; });
  const auto is_bytes = [&](const Column& column) {
    return column.role == Role::field && endings_of(column).front().empty();
  };
  const auto is_free = [&](const std::string& name) {
    Column* const giver = giver_of(name);
    if ((has_label && name == k_label_field) || (giver != nullptr && (!is_bytes(*giver) || giver->stem == name)))
      return false;
    if (giver != nullptr) giver->is_plain = true;
    return true;
  };
  for (const Role role : {Role::image, Role::field}) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      Column& column = columns[i];
      if (column.role != role) continue;
      const std::vector<std::string_view> endings = endings_of(column);
      const std::vector<std::string_view> sure = is_bytes(column) ? std::vector<std::string_view>{""} : endings;
      if (!std::all_of(sure.begin(), sure.end(), [&](auto ending) { return is_free(field_of(column, ending)); })) {
        column.stem = fmt::format("{}_{}", column.stem, i);
      }
      if (is_bytes(column)) {
        column.is_plain = std::any_of(endings.begin(), endings.end(),
                                      [&](auto ending) { return giver_of(field_of(column, ending)) != nullptr; });
      }
      placed.emplace(column.stem, &column);
      if (role == Role::image) image = &column;
    }
  }
}

/// `Column` is derived from ForeignColumn.
template <typename Column>
class ColumnScan {
 public:
  virtual ~ColumnScan() = default;

  void run(std::uint64_t num_samples) {
    for (number_ = 0; number_ < num_samples; ++number_) {
      values_.clear();
      split_sample();
      const std::optional<std::string> key = own_key();
      sample_ = index_.add_sample(keys_.take(key ? *key : other_key(), number_));
      for (const Value& value : values_) add(value);
    }
  }

 protected:
  struct Value {
    const Column* column = nullptr;
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
  };

  /// `thing`: what the file is called in errors.
  ColumnScan(const Stream& content, const std::string& path, IndexBuilder& index, std::string_view thing)
      : index_(index), path_(path), thing_(thing), window_(content) {}

  /// Fills values_ with those of sample number_.
  virtual void split_sample() = 0;
  /// Gives the sample the field that the value is.
  virtual void add_value(const Value& value) = 0;
  /// Gives the sample the label that the value is.
  virtual void add_label(const Value& value) { set_label(value, bytes_at(value.offset, value.length)); }
  /// Of a sample without a column for its key. Empty: its number.
  virtual std::string other_key() const { return {}; }

  [[noreturn]] void fail(ErrorCode code, std::uint64_t offset, std::string_view what) const {
    throw Error(code, fmt::format("sample {}: {}", number_, what), {.path = path_, .offset = offset});
  }

  Bytes bytes_at(std::uint64_t offset, std::size_t length) {
    const Bytes found = window_.from(offset, length);
    if (found.size() < length) fail(ErrorCode::damaged, offset, fmt::format("the {} ends too early", thing_));
    return found.first(length);
  }

  /// At most `length` bytes of the value's front.
  Bytes front_of(const Value& value, std::size_t length) {
    return bytes_at(value.offset, std::min<std::size_t>(value.length, length));
  }

  static constexpr std::size_t k_head = 512;

  /// By the first bytes; `otherwise` for bytes that are not an image.
  std::string image_extension(const Value& value, std::string_view otherwise) {
    const ImageKind kind = probe_image(front_of(value, k_head)).kind;
    return std::string(kind == ImageKind::unknown ? otherwise : image_field_name(kind));
  }

  /// The field of the value's column with the extension.
  void set_field(const Value& value, std::string_view extension, std::uint64_t length, bool located) {
    const std::string name = field_of(*value.column, extension);
    set_scanned_field(index_, sample_, {.name = name, .located = located}, value.offset, length,
                      {.path = path_, .offset = value.offset});
    if (located && name == k_label_field) index_.set_label_of(sample_, front_of(value, k_head), length <= k_head);
  }

  /// A value that the file stores as it is delivered.
  void set_stored(const Value& value, std::string_view extension) { set_field(value, extension, value.length, true); }

  /// The same for one that bale does not understand. `encoding_of`: "MDS's encoding".
  void set_opaque(const Value& value, std::string_view extension, std::string_view encoding_of) {
    set_stored(value, extension);
    index_.notices().warn(fmt::format("column \"{}\": values are delivered as the bytes of {} {}",
                                      printable(value.column->name), encoding_of, shown_encoding(value)));
  }

  /// A value that is delivered as another file.
  void set_made(const Value& value, const std::optional<ArrayConversion>& delivery) {
    if (!delivery || delivery->skip + delivery->tail_bytes != value.length) {
      fail(ErrorCode::damaged, value.offset,
           fmt::format("column \"{}\" has {} bytes, which are not a valid {}", printable(value.column->name),
                       value.length, shown_encoding(value)));
    }
    set_field(value, delivery->extension, delivery->bytes(), false);
  }

  /// `bytes`: an integer of the column's type, little-endian.
  void set_label(const Value& value, Bytes bytes) {
    if (bytes.size() != type_bytes(value.column->type)) {
      fail(ErrorCode::damaged, value.offset, "has a label that is not an integer");
    }
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) bits |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
    const bool is_signed = value.column->type[1] == 'i';
    const unsigned unused = 64 - 8 * static_cast<unsigned>(bytes.size());
    const auto label =
        is_signed ? static_cast<std::int64_t>(bits << unused) >> unused : static_cast<std::int64_t>(bits);
    if ((!is_signed && label < 0) || label == k_no_label) {
      fail(ErrorCode::unsupported, value.offset, "has a label beyond 64-bit integers");
    }
    index_.set_label(sample_, label);
  }

  IndexBuilder& index_;
  const std::string& path_;
  std::vector<Value> values_{};  // of the sample
  std::uint64_t number_ = 0;     // of the sample in the file
  std::uint64_t sample_ = 0;     // in the index

 private:
  void add(const Value& value) {
    const Role role = value.column->role;
    if (role == Role::label) return add_label(value);
    if (role != Role::key && role != Role::file_name) add_value(value);
  }

  static std::string shown_encoding(const Value& value) {
    constexpr std::size_t k_shown = 64;
    return printable(value.column->encoding.substr(0, k_shown));
  }

  /// What a column with the role says; nullopt without one.
  std::optional<std::string> own_key() {
    for (const Value& value : values_) {
      if (value.column->role != Role::key && value.column->role != Role::file_name) continue;
      if (value.length > StreamWindow::k_bytes) {
        fail(ErrorCode::unsupported, value.offset, "has a key of more than 4 KiB");
      }
      std::string text(as_text(bytes_at(value.offset, value.length)));
      return value.column->role == Role::key ? text : key_of_file(text);
    }
    return std::nullopt;
  }

  const std::string_view thing_;
  StreamWindow window_;
  ForeignKeys keys_;
};

}  // namespace bale
