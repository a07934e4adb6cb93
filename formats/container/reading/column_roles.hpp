// What the columns of another program's samples are to bale: by their names, and by what their values are.
//
// Pure functions; safe in any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/shard/sample/key.hpp"

namespace bale {

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

/// Numbers the other columns that fit and are called as an image, if the image's own column is not: its field gets such
/// a name by the content.
template <typename Column, typename Fits>
void keep_apart_from_image(std::vector<Column>& columns, Fits fits) {
  const auto is_image = [](const Column& column) { return column.role == Role::image; };
  const auto image = std::find_if(columns.begin(), columns.end(), is_image);
  if (image == columns.end() || is_image_field(image->stem)) return;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    Column& column = columns[i];
    if (column.role == Role::field && is_image_field(column.stem) && fits(column))
      column.stem = fmt::format("{}_{}", column.stem, i);
  }
}

/// The image: a column that says that it has images, one with an image's name first; else bytes with such a name, then
/// an array with such a name, then the first bytes of all.
template <typename Column, typename SaysSo, typename HasBytes, typename IsArray>
void assign_image(std::vector<Column>& columns, SaysSo says_so, HasBytes has_bytes, IsArray is_array) {
  assign_role(columns, k_image_names, Role::image, says_so) || assign_first(columns, Role::image, says_so) ||
      assign_role(columns, k_image_names, Role::image, has_bytes) ||
      assign_role(columns, k_image_names, Role::image, is_array) || assign_first(columns, Role::image, has_bytes);
  keep_apart_from_image(columns, [&](const Column& column) { return says_so(column) || has_bytes(column); });
}

/// Name of the field for values of a column, or of those that end with `extension` ("jpg"), which is not repeated. The
/// image of a sample is called by the extension alone.
inline std::string field_of(const ForeignColumn& column, std::string_view extension) {
  const std::string& stem = column.stem;
  if (extension.empty() || stem == extension) return stem;
  if (column.role == Role::image) return std::string(extension);
  const bool has_extension = stem.ends_with(fmt::format(".{}", extension));
  return has_extension ? stem : fmt::format("{}.{}", stem, extension);
}

}  // namespace bale
