#include "bale/formats/recordio/image_record.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/sample.hpp"
#include "bale/formats/shard/sample/key.hpp"

namespace bale::recordio {
namespace {

constexpr std::int64_t k_max_class = std::int64_t{1} << 24;
constexpr std::string_view k_table_magic = "BALEREC1";
constexpr std::size_t k_footer_bytes = 16;  // u32 size of the table, u32 CRC32C of it, the magic

bool is_class(float label) {
  return label >= 0 && label <= static_cast<float>(k_max_class) && label == std::floor(label);
}

std::string number_text(float value) {
  if (std::isfinite(value)) return fmt::format("{}", value);
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

template <typename T>
void append(const T& value, std::vector<std::byte>& out) {
  const std::size_t at = out.size();
  out.resize(at + sizeof value);
  std::memcpy(out.data() + at, &value, sizeof value);
}

}  // namespace

std::int64_t IrHeader::class_label() const {
  if (labels.empty()) return is_class(label) ? static_cast<std::int64_t>(label) : k_no_label;
  return labels.size() == 1 && is_class(labels[0]) ? static_cast<std::int64_t>(labels[0]) : k_no_label;
}

std::string IrHeader::class_text() const { return fmt::format("{}", class_label()); }

std::string IrHeader::labels_text() const {
  std::string text = "[";
  for (const float value : labels) text += fmt::format("{}{}", text.size() > 1 ? ", " : "", number_text(value));
  if (labels.empty()) text += number_text(label);
  return text + "]";
}

bool fits_header(std::int64_t label) { return label >= 0 && label <= k_max_class; }

std::optional<std::vector<float>> parse_labels(std::string_view text) {
  IrHeader header;
  std::string_view rest = text;
  if (!rest.starts_with('[') || !rest.ends_with(']')) return std::nullopt;
  rest = rest.substr(1, rest.size() - 2);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(", "), rest.size());
    std::string_view number = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 2, rest.size()));
    float value = 0;
    if (number.ends_with("Infinity") || number == "NaN") {
      value = number == "NaN" ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
      if (number.starts_with('-')) value = -value;
    } else if (std::from_chars(number.data(), number.data() + number.size(), value).ec != std::errc{}) {
      return std::nullopt;
    }
    header.labels.push_back(value);
  }
  const bool says_the_same = !header.labels.empty() && header.labels_text() == text;
  if (!says_the_same || header.class_label() != k_no_label) return std::nullopt;
  return std::move(header.labels);
}

std::vector<std::byte> encode_header(const IrHeader& header) {
  std::vector<std::byte> out;
  append(static_cast<std::uint32_t>(header.labels.size()), out);
  append(header.labels.empty() ? header.label : 0.0F, out);
  append(header.id, out);
  append(std::uint64_t{0}, out);
  for (const float label : header.labels) append(label, out);
  return out;
}

IrHeader read_header(FileWindow& window, const Record& record) {
  if (record.length < k_image_header_bytes) {
    fail_record(window.file().path(), record, fmt::format("{} bytes are not an image record", record.length));
  }
  const std::vector<std::byte> fixed = read_bytes(window, record, 0, k_image_header_bytes);
  const std::uint64_t num_labels = load_at<std::uint32_t>(fixed.data());
  IrHeader header{.label = load_at<float>(fixed.data() + 4), .id = load_at<std::uint64_t>(fixed.data() + 8)};
  if (num_labels > (record.length - k_image_header_bytes) / k_label_bytes) {
    fail_record(window.file().path(), record, fmt::format("its header says {} labels, more than it has", num_labels));
  }
  const std::vector<std::byte> labels = read_bytes(window, record, k_image_header_bytes, num_labels * k_label_bytes);
  for (std::size_t at = 0; at < labels.size(); at += k_label_bytes) {
    header.labels.push_back(load_at<float>(labels.data() + at));
  }
  return header;
}

std::vector<std::byte> encode_table(const std::vector<StoredField>& fields) {
  std::vector<std::byte> out;
  for (const StoredField& field : fields) {
    append(static_cast<std::uint8_t>(field.name.size()), out);
    out.insert(out.end(), as_bytes(field.name).begin(), as_bytes(field.name).end());
    append(field.length, out);
  }
  const auto table_bytes = static_cast<std::uint32_t>(out.size());
  const std::uint32_t crc = crc32c(out);
  append(table_bytes, out);
  append(crc, out);
  out.insert(out.end(), as_bytes(k_table_magic).begin(), as_bytes(k_table_magic).end());
  return out;
}

std::optional<std::vector<StoredField>> read_table(FileWindow& window, const Record& record, const IrHeader& header) {
  const std::uint64_t begin = header.bytes();
  if (record.length - begin < k_footer_bytes) return std::nullopt;
  const std::uint64_t footer_at = record.length - k_footer_bytes;
  const std::vector<std::byte> footer = read_bytes(window, record, footer_at, k_footer_bytes);
  if (as_text(Bytes(footer).subspan(8)) != k_table_magic) return std::nullopt;

  const auto fail = [&] { fail_record(window.file().path(), record, "its table of fields makes no sense"); };
  const std::uint64_t table_bytes = load_at<std::uint32_t>(footer.data());
  if (table_bytes > footer_at - begin) fail();
  const std::vector<std::byte> table = read_bytes(window, record, footer_at - table_bytes, table_bytes);
  if (crc32c(table) != load_at<std::uint32_t>(footer.data() + 4)) fail();
  std::vector<StoredField> fields;
  std::uint64_t position = begin;
  for (Bytes rest = table; !rest.empty();) {
    const auto name_bytes = std::to_integer<std::size_t>(rest[0]);
    if (rest.size() < 1 + name_bytes + sizeof(std::uint32_t)) fail();
    const auto length = load_at<std::uint32_t>(rest.data() + 1 + name_bytes);
    fields.push_back({std::string(as_text(rest.subspan(1, name_bytes))), position, length});
    position += length;
    rest = rest.subspan(1 + name_bytes + sizeof length);
  }
  if (fields.empty() || position != footer_at - table_bytes) fail();
  return fields;
}

namespace {

constexpr std::string_view k_record_suffix = ".rec";

/// The content of the file of that suffix next to a `.rec` file, if there is one, whose path it sets.
std::optional<std::vector<std::byte>> read_beside(const std::string& record_path, std::string_view suffix,
                                                  std::string& path) {
  if (!record_path.ends_with(k_record_suffix)) return std::nullopt;
  std::string beside = record_path.substr(0, record_path.size() - k_record_suffix.size()) + std::string(suffix);
  if (!path_exists(beside)) return std::nullopt;
  path = std::move(beside);
  return read_file(path);
}

std::string odd_list(const std::string& path, std::uint64_t num_listed, std::uint64_t num_records) {
  return fmt::format("{} lists {} records, and the file has {}: {}", printable(base_name(path)), num_listed,
                     num_records, num_listed < num_records ? "all are read" : "was it cut? Then copy it again");
}

/// The key for a path. Our lists have keys, which are used unchanged; lists of other tools have file names.
std::string key_of_path(std::string_view path) {
  const auto parts = split_member_name(path);
  const bool fit = parts && parts->extension.find('.') == std::string_view::npos && !is_reserved_member(path);
  return fit ? std::string(parts->key) : key_of_file(path);
}

}  // namespace

ImageList ImageList::beside(const std::string& record_path) {
  ImageList list;
  const auto bytes = read_beside(record_path, ".lst", list.path_);
  if (!bytes) return list;
  std::string_view rest = as_text(*bytes);
  if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);  // the byte order mark of editors on Windows
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    const bool has_end = line.size() != rest.size();
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::uint64_t id = 0;
    const char* const end = line.data() + line.size();
    const auto number = std::from_chars(line.data(), end, id);
    const std::size_t tab = line.rfind('\t');
    const bool three_columns = number.ec == std::errc{} && number.ptr != end && *number.ptr == '\t' &&
                               tab != static_cast<std::size_t>(number.ptr - line.data());
    if (!three_columns) continue;
    const auto labels_at = static_cast<std::size_t>(number.ptr - line.data()) + 1;
    list.lines_.push_back({.id = id,
                           .key = key_of_path(line.substr(tab + 1)),
                           .labels = std::string(line.substr(labels_at, tab - labels_at))});
    if (!has_end && !is_image_name(line.substr(tab + 1))) list.doubtful_ = id;
  }
  std::sort(list.lines_.begin(), list.lines_.end(), [](const Line& a, const Line& b) { return a.id < b.id; });
  return list;
}

std::string odd_index_beside(const std::string& record_path, std::uint64_t num_records, const ImageList& list) {
  std::string path;
  const auto bytes = read_beside(record_path, ".idx", path);
  if (!bytes && list.size() <= num_records) return {};
  if (!bytes) return odd_list(list.path(), list.size(), num_records);
  std::uint64_t num_listed = 0;
  std::string_view rest = as_text(*bytes);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.find('\t') != std::string_view::npos) ++num_listed;
  }
  return num_listed == num_records ? std::string() : odd_list(path, num_listed, num_records);
}

const ImageList::Line* ImageList::line(std::uint64_t id) const {
  const auto [first, last] = std::equal_range(lines_.begin(), lines_.end(), Line{.id = id},
                                              [](const Line& a, const Line& b) { return a.id < b.id; });
  return last - first == 1 ? &*first : nullptr;
}

const std::string* ImageList::key(std::uint64_t id) const {
  const Line* const found = line(id);
  return found == nullptr ? nullptr : &found->key;
}

bool ImageList::has_labels_of(const IrHeader& header) const {
  const Line* const found = line(header.id);
  if (found == nullptr) return true;
  constexpr float k_precision = 1e-6F;
  const std::vector<float> own = header.labels.empty() ? std::vector<float>{header.label} : header.labels;
  std::string_view rest = found->labels;
  for (const float label : own) {
    float listed = 0;
    const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), listed);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    const bool is_same = label == listed || (std::isnan(label) && std::isnan(listed)) ||
                         std::abs(label - listed) <= k_precision * (1 + std::abs(label));
    if (problem != std::errc{} || !is_same || (!rest.empty() && rest.front() != '\t')) return false;
    if (!rest.empty()) rest.remove_prefix(1);
  }
  return rest.empty();
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
