#include "bale/formats/recordio/image_list.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/key.hpp"

namespace bale::recordio {
namespace {

constexpr std::string_view k_record_suffix = ".rec";
constexpr std::string_view k_list_suffix = ".lst";

/// The key for a path. Our lists have keys, which are used unchanged; lists of other tools have file names.
std::string key_of_path(std::string_view path) {
  const auto parts = split_member_name(path);
  const bool fit = parts && parts->extension.find('.') == std::string_view::npos && !is_reserved_member(path);
  return fit ? std::string(parts->key) : key_of_file(path);
}

}  // namespace

ImageList ImageList::beside(const std::string& record_path) {
  ImageList list;
  if (!record_path.ends_with(k_record_suffix)) return list;
  const std::string path =
      record_path.substr(0, record_path.size() - k_record_suffix.size()) + std::string(k_list_suffix);
  if (!path_exists(path)) return list;
  const std::vector<std::byte> bytes = read_file(path);
  for (std::string_view rest = as_text(bytes); !rest.empty();) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::uint64_t id = 0;
    const char* const end = line.data() + line.size();
    const auto number = std::from_chars(line.data(), end, id);
    const std::size_t tab = line.rfind('\t');
    const bool three_columns = number.ec == std::errc{} && number.ptr != end && *number.ptr == '\t' &&
                               tab != static_cast<std::size_t>(number.ptr - line.data());
    if (three_columns) list.keys_.emplace_back(id, key_of_path(line.substr(tab + 1)));
  }
  std::sort(list.keys_.begin(), list.keys_.end());
  return list;
}

const std::string* ImageList::key(std::uint64_t id) const {
  const auto [first, last] = std::equal_range(keys_.begin(), keys_.end(), std::pair{id, std::string()},
                                              [](const auto& a, const auto& b) { return a.first < b.first; });
  return last - first == 1 ? &first->second : nullptr;
}

std::string list_line(const IrHeader& header, std::string_view key, std::string_view image_field) {
  std::string line = fmt::format("{}\t", header.id);
  if (header.labels.empty()) line += fmt::format("{:f}\t", header.label);
  for (const float label : header.labels) line += fmt::format("{:f}\t", label);
  for (const char c : key) {
    // Characters that end a column or a line are percent-encoded.
    if (c == '\t' || c == '\n' || c == '\r') {
      line += fmt::format("%{:02X}", static_cast<unsigned>(c));
    } else {
      line += c;
    }
  }
  return line + fmt::format(".{}\n", image_field);
}

}  // namespace bale::recordio
