#include "bale/writer/change/field_values.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/codec/array_header.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/known_names.hpp"
#include "bale/formats/base/text/key_text.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/writer/source/folder/folder_walk.hpp"
#include "bale/writer/source/tables/record_reader.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_max_value_bytes = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t k_max_header_bytes = 64 << 10;
constexpr unsigned k_list_jobs = 4;

/// "txt" of "caption.txt" and of "txt".
std::string_view extension_of(std::string_view field) { return field.substr(field.rfind('.') + 1); }

[[noreturn]] void refuse_repeated(const std::string& key, std::uint64_t line, std::string_view what) {
  const std::string where = line == 0 ? "" : fmt::format(" in line {}", line);
  throw Error(ErrorCode::invalid_argument, fmt::format("\"{}\" has {} already{}", printed_key(key), what, where),
              {.hint = "leave one of them out"});
}

class TableValues final : public FieldValues {
 public:
  explicit TableValues(const FieldChoice& choice) : path_(choice.from) {
    const std::string_view extension = extension_of(choice.field);
    if (extension == k_array_field) {
      throw Error(ErrorCode::invalid_argument, "arrays do not come from a table",
                  {.path = path_, .hint = "save them as one array with numpy.save() and name its keys by `keys`"});
    }
    const bool is_json = extension == "json";
    const std::string columns[] = {choice.field, choice.field.substr(0, choice.field.find('.')), "value"};
    read_keyed_table(path_, columns, true, [&](KeyedCell& cell) {
      const bool is_plain = cell.json == nullptr || cell.json->is_number() || cell.json->kind() == Json::Kind::truth;
      if (!is_json && !is_plain) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("the value of \"{}\" is neither a text nor a number", printed_key(cell.key)),
                    {.hint = "such values are of a field NAME.json"});
      }
      if (is_json && cell.json == nullptr) cell.text = json_of(cell.text);
      add(cell);
    });
  }

  Bytes read(std::int64_t number) override { return as_bytes(texts_[static_cast<std::size_t>(number)]); }
  std::string path_of(std::int64_t) const override { return path_; }

 private:
  /// Cells that are JSON stay as they are: numbers, lists. Others are texts.
  static std::string json_of(const std::string& cell) {
    try {
      parse_json(cell);
      return cell;
    } catch (const Error&) {
      return Json(cell).dump();
    }
  }

  void add(KeyedCell& cell) {
    const std::string key = cell.key;
    const KeyedRows::Row* const known =
        rows_.add(std::move(cell.key), static_cast<std::int64_t>(texts_.size()), cell.line);
    if (known == nullptr) {
      texts_.push_back(std::move(cell.text));
    } else if (texts_[static_cast<std::size_t>(known->value)] != cell.text) {
      refuse_repeated(key, known->line, "another value");
    }
  }

  std::string path_;
  std::vector<std::string> texts_;
};

/// Rows of one NumPy array, with a file of their keys.
class ArrayValues final : public FieldValues {
 public:
  explicit ArrayValues(const FieldChoice& choice) : keys_path_(choice.keys), file_(File::open_read(choice.from)) {
    std::vector<std::byte> head(std::min<std::uint64_t>(k_max_header_bytes, file_.size()));
    file_.read_exact(0, head);
    const std::optional<ArrayHeader> header = parse_array_header(head);
    if (!header) fail_array_header(head, {.path = choice.from});
    take_header(*header, choice);
    if (choice.keys.empty()) {
      refuse("does not say which samples its rows are", "name a file with a key per row, in its order, by `keys`");
    }
    read_keys();
  }

  Bytes read(std::int64_t number) override {
    row_.resize(row_bytes_);
    file_.read_exact(data_offset_ + static_cast<std::uint64_t>(number) * row_bytes_, row_);
    if (!is_text_) return row_;
    text_ = number_text(row_);
    return as_bytes(text_);
  }
  std::string path_of(std::int64_t) const override { return keys_path_; }

 private:
  [[noreturn]] void refuse(std::string why, std::string hint) const {
    throw Error(ErrorCode::invalid_argument, std::move(why), {.path = file_.path(), .hint = std::move(hint)});
  }

  void take_header(const ArrayHeader& header, const FieldChoice& choice) {
    type_ = header.type;
    const char kind = type_.size() < 3 ? '?' : type_[1];
    if (std::string_view("biufc").find(kind) == std::string_view::npos || type_.front() == '>')
      refuse(fmt::format("an array of the type {}", printable(type_)), "save numbers or truth values of this machine");
    if (header.shape.empty()) refuse("an array without rows", "its first dimension is that of the keys");
    if (header.fortran_order && header.shape.size() > 1)
      refuse("an array in Fortran's order", "save numpy.ascontiguousarray() of it");
    const std::uint64_t item_bytes = std::strtoul(type_.c_str() + 2, nullptr, 10);
    const std::optional<std::uint64_t> count = num_elements(header);
    num_rows_ = header.shape.front();
    data_offset_ = header.data_offset;
    if (!count || item_bytes == 0 || *count > (file_.size() - data_offset_) / item_bytes ||
        *count * item_bytes != file_.size() - data_offset_) {
      throw Error(ErrorCode::damaged, "its size contradicts its header", {.path = file_.path()});
    }
    row_bytes_ = num_rows_ == 0 ? 0 : *count / num_rows_ * item_bytes;
    if (row_bytes_ > k_max_value_bytes - k_max_header_bytes) refuse("an array with rows of 4 GiB", "split them");
    const std::span<const std::uint64_t> sides = std::span(header.shape).subspan(1);
    if (extension_of(choice.field) == k_array_field) {
      prefix_ = array_header_text(type_, sides);
      return;
    }
    is_text_ = true;
    if (!sides.empty() || number_text(std::vector<std::byte>(item_bytes)).empty()) {
      refuse(fmt::format("not an array of one number per sample, which the field {} needs", printable(choice.field)),
             fmt::format("set a field NAME.{}", k_array_field));
    }
  }

  /// Empty for another type.
  std::string number_text(Bytes item) const {
    const auto text = [&](auto number) { return fmt::format("{}", number); };
    const std::string_view type = std::string_view(type_).substr(1);
    if (type == "b1") return item[0] != std::byte{} ? "1" : "0";
    if (type == "i1") return text(int{load_at<std::int8_t>(item.data())});
    if (type == "u1") return text(unsigned{load_at<std::uint8_t>(item.data())});
    if (type == "i2") return text(load_at<std::int16_t>(item.data()));
    if (type == "u2") return text(load_at<std::uint16_t>(item.data()));
    if (type == "i4") return text(load_at<std::int32_t>(item.data()));
    if (type == "u4") return text(load_at<std::uint32_t>(item.data()));
    if (type == "i8") return text(load_at<std::int64_t>(item.data()));
    if (type == "u8") return text(load_at<std::uint64_t>(item.data()));
    if (type == "f4") return text(load_at<float>(item.data()));
    if (type == "f8") return text(load_at<double>(item.data()));
    return {};
  }

  void read_keys() {
    RecordReader lines(keys_path_, RecordKind::lines);
    std::uint64_t count = 0;
    try {
      while (lines.next()) {
        std::string_view line = lines.record();
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty()) continue;
        std::string key = read_key(line);
        if (count == num_rows_)
          throw Error(ErrorCode::invalid_argument, fmt::format("more keys than the array has rows: {}", num_rows_));
        const KeyedRows::Row* const known = rows_.add(key, static_cast<std::int64_t>(count++), lines.line());
        if (known != nullptr) refuse_repeated(key, known->line, "a row");
      }
    } catch (const Error& error) {
      rethrow_at_line(error, keys_path_, lines.line());
    }
    if (count != num_rows_) {
      throw Error(ErrorCode::invalid_argument, fmt::format("{} keys, the array has {} rows", count, num_rows_),
                  {.path = keys_path_, .hint = "give one key per row"});
    }
  }

  std::string keys_path_;
  File file_;
  std::string type_;
  std::uint64_t num_rows_ = 0;
  std::uint64_t data_offset_ = 0;
  std::uint64_t row_bytes_ = 0;
  bool is_text_ = false;
  std::vector<std::byte> row_;
  std::string text_;
};

/// Files KEY.FIELD, or KEY.EXT with the last part of the field's name.
class FolderValues final : public FieldValues {
 public:
  explicit FolderValues(const FieldChoice& choice) : are_images_(is_image_field(extension_of(choice.field))) {
    const std::string whole = "." + choice.field;
    const std::string last = fmt::format(".{}", extension_of(choice.field));
    NoticeLog others;
    std::vector<SourceLoss> losses;
    DirectoryWalk walk(choice.from, {.wanted = [&](std::string_view name) { return name.ends_with(last); }}, others,
                       losses, k_list_jobs);
    for (const DirectoryFiles& files : walk.files_below(choice.from)) {
      for (std::size_t n = 0; n < files.size(); ++n) {
        std::string path = join_path(files.path(), files[n]);
        const std::string below = std::filesystem::path(path).lexically_relative(choice.from).string();
        const std::size_t end = below.size() - (below.ends_with(whole) ? whole.size() : last.size());
        const std::string key = below.substr(0, end);
        const KeyedRows::Row* const known = rows_.add(key, static_cast<std::int64_t>(paths_.size()), 0);
        if (known != nullptr) refuse_repeated(key, 0, fmt::format("the file {}", shown_name(path_of(known->value))));
        paths_.push_back(std::move(path));
      }
    }
    if (paths_.empty()) {
      throw Error(
          ErrorCode::invalid_argument, fmt::format("no file in it ends in {}", printable(last)),
          {.path = choice.from, .hint = "files are named KEY" + last + (whole == last ? "" : " or KEY" + whole)});
    }
  }

  Bytes read(std::int64_t number) override {
    bytes_ = read_file(path_of(number), k_max_value_bytes);
    if (are_images_ && probe_image(bytes_).kind == ImageKind::unknown) {
      throw Error(ErrorCode::damaged, "not an image: no known signature",
                  {.path = path_of(number), .hint = "correct the file, or take it out of the folder"});
    }
    return bytes_;
  }
  std::string path_of(std::int64_t number) const override { return paths_[static_cast<std::size_t>(number)]; }

 private:
  const bool are_images_;
  std::vector<std::string> paths_;
  std::vector<std::byte> bytes_;
};

}  // namespace

std::unique_ptr<FieldValues> FieldValues::open(const FieldChoice& choice) {
  const std::string& from = choice.from;
  const std::string array_suffix = fmt::format(".{}", k_array_field);
  if (is_image_field(extension_of(choice.field)) && std::filesystem::is_regular_file(from)) {
    throw Error(ErrorCode::invalid_argument, "images do not come from a table or an array",
                {.path = from, .hint = "give a folder of files KEY." + printable(choice.field)});
  }
  if (from.ends_with(array_suffix) && !std::filesystem::is_directory(from))
    return std::make_unique<ArrayValues>(choice);
  if (!choice.keys.empty()) {
    throw Error(ErrorCode::invalid_argument, "`keys` are those of the rows of an array",
                {.path = from, .hint = "give an array that ends in " + array_suffix});
  }
  if (from.ends_with(".csv") || from.ends_with(".tsv") || from.ends_with(".jsonl"))
    return std::make_unique<TableValues>(choice);
  if (std::filesystem::is_directory(from)) return std::make_unique<FolderValues>(choice);
  if (!path_exists(from)) throw Error(ErrorCode::not_found, "no such file or directory", {.path = from});
  throw Error(ErrorCode::invalid_argument, "not a source of values",
              {.path = from,
               .hint = fmt::format("give a table (.csv, .tsv, .jsonl), an array ({}) or a folder", array_suffix)});
}

}  // namespace bale
