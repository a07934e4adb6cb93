// Tables with one box per row. Open Images: in parts of the image's sides, or labels of whole images
// (https://storage.googleapis.com/openimages/web/download_v7.html). Others, such as Roboflow's and TensorFlow's: in
// pixels, with the names of files ("filename,width,height,class,xmin,ymin,xmax,ymax").
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/options/option_values.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/writer/source/annotations/annotation_set.hpp"
#include "bale/writer/source/annotations/target_text.hpp"
#include "bale/writer/source/classes/labels.hpp"
#include "bale/writer/source/files/text_files.hpp"
#include "bale/writer/source/rows/file_rows.hpp"
#include "bale/writer/source/rows/source_root.hpp"
#include "bale/writer/source/tables/record_reader.hpp"

namespace bale {
namespace {

constexpr std::array<std::string_view, 6> k_needed{"ImageID", "LabelName", "XMin", "YMin", "XMax", "YMax"};
// Of other tables, in lower case, each with its usual names.
constexpr std::array<std::array<std::string_view, 5>, 6> k_usual{{{"filename", "file_name", "image", "path", "file"},
                                                                  {"class", "label", "category", "class_name", "name"},
                                                                  {"xmin", "x_min", "x0", "x1", "left"},
                                                                  {"ymin", "y_min", "y0", "y1", "top"},
                                                                  {"xmax", "x_max", "x2", "x1", "right"},
                                                                  {"ymax", "y_max", "y2", "y1", "bottom"}}};
constexpr std::array<std::string_view, 6> k_further{"Confidence", "IsOccluded",  "IsTruncated",
                                                    "IsGroupOf",  "IsDepiction", "IsInside"};

class OpenImages : public AnnotationSet {
 public:
  OpenImages(const std::string& path, const SourceOptions& options) : file_(path, "annotations"), labels_(options) {}

  const std::string& path() const override { return file_.path(); }
  const std::vector<std::string>& fields() const override { return fields_; }
  const std::vector<std::string>& classes() const override { return labels_.classes(); }
  bool names_images() const override { return false; }

  void match(const FolderImages& folder, AnnotationLog& log) override {
    RecordReader reader(path(), RecordKind::csv);
    std::uint64_t num_lost = 0;
    std::string first_lost;
    try {
      if (reader.next()) {
        delimiter_ = reader.delimiter();
        set_header(reader.record());
      }
      name_images(folder);
      std::string before;
      while (reader.next()) {
        if (!reader.record().empty()) add_row(reader, before, num_lost, first_lost);
      }
    } catch (const Error& error) {
      rethrow_at_line(error, path(), reader.line());
    }
    if (columns_.empty()) throw Error(ErrorCode::damaged, "an empty table", {.path = path()});
    sort_pieces(folder.paths.size());
    take_labels();
    if (const std::string remark = pixels_.remark(); !remark.empty()) log.warn(path(), remark);
    if (num_lost > 0 && !folder.is_list) {
      log.lose(path(),
               fmt::format("{} of {} images that are not in {}, such as {}", has_boxes_ ? "boxes" : "labels", num_lost,
                           printable(folder.root), printable(first_lost)),
               num_lost);
    }
    if (!left_out_.empty()) {
      log.warn(path(), fmt::format("columns that no field has: {}", printable(joined(left_out_))));
    }
    std::uint64_t num_bare = 0;
    for (std::size_t row = 0; row < folder.paths.size(); ++row) num_bare += starts_[row] == starts_[row + 1] ? 1 : 0;
    if (num_bare > 0) {
      log.warn(path(), fmt::format("{} of {} images have no rows; they are packed without {}", num_bare,
                                   folder.paths.size(), has_boxes_ ? "boxes" : "labels"));
    }
  }

  std::uint32_t row_of(const std::string& image) const override {
    const auto found = rows_.find(name_of(image));
    return found == rows_.end() ? k_no_row : found->second;
  }
  std::uint64_t bytes(std::uint32_t row, std::size_t) const override {
    std::uint64_t sum = 40;
    if (row == k_no_row) return sum;
    for (std::uint64_t i = starts_[row]; i < starts_[row + 1]; ++i) sum += pieces_[i].bytes;
    return sum;
  }

  std::optional<ImageSize> append(std::uint32_t row, std::size_t, const SampleView& image,
                                  std::string& out) const override {
    std::optional<ImageSize> size;
    std::vector<std::string> lists;
    if (has_names_) lists.emplace_back("names");
    for (const auto& [name, column] : further_) lists.push_back(name);
    TargetText targets(std::move(lists), has_boxes_);
    for (std::uint64_t i = row == k_no_row ? 0 : starts_[row]; row != k_no_row && i < starts_[row + 1]; ++i) {
      std::string_view text;
      const std::string piece = file_.read(pieces_[i].offset, pieces_[i].bytes);
      text = piece;
      while (!text.empty()) {
        const std::size_t end = text.find('\n');
        std::string_view record = text.substr(0, end);
        const std::uint64_t offset = pieces_[i].offset + static_cast<std::uint64_t>(record.data() - piece.data());
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (record.ends_with('\r')) record.remove_suffix(1);
        try {
          if (!record.empty()) add_box(record, image, targets, size);
        } catch (const Error& error) {
          throw Error(error.code(), error.message(), {.path = path(), .offset = offset, .hint = error.context().hint});
        }
      }
    }
    targets.append_to(out);
    return size;
  }
  void append_identity(std::uint32_t row, std::string& out) const override {
    if (row == k_no_row) return;
    for (std::uint64_t i = starts_[row]; i < starts_[row + 1]; ++i)
      file_.append(pieces_[i].offset, pieces_[i].bytes, out);
  }

 private:
  struct Piece {
    std::uint64_t offset;  // of consecutive records of one image
    std::uint32_t bytes;
    std::uint32_t image;
  };

  void set_header(std::string_view record) {
    std::vector<std::string> names;
    require_utf8(record);
    split_cells(record, delimiter_, names);
    num_cells_ = names.size();
    for (std::string& name : names) name = std::string(stripped(name));
    tell_apart(names);
    const auto column = [&](std::string_view name) {
      return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    };
    if (column(k_needed[0]) == names.size()) return set_other_header(names);
    has_boxes_ = column(k_needed[1]) == names.size() ||
                 std::any_of(k_needed.begin() + 2, k_needed.end(),
                             [&](std::string_view name) { return column(name) != names.size(); });
    for (const std::string_view name : std::span(k_needed).first(has_boxes_ ? 6 : 2)) {
      columns_.push_back(column(name));
      if (columns_.back() == names.size()) {
        throw Error(ErrorCode::invalid_argument, fmt::format("no column {}, which boxes of Open Images have", name));
      }
    }
    if (!has_boxes_) fields_ = {"image_labels.json"};
    for (const std::string_view name : k_further) {
      if (column(name) != names.size()) further_.emplace_back(name, column(name));
    }
    for (std::size_t at = 0; at < names.size(); ++at) {
      const auto is_it = [at](const auto& taken) { return taken.second == at; };
      const bool is_taken = std::find(columns_.begin(), columns_.end(), at) != columns_.end() ||
                            std::any_of(further_.begin(), further_.end(), is_it);
      if (!is_taken) left_out_.push_back(names[at]);
    }
  }

  /// Of a table that is not Open Images': boxes in pixels.
  void set_other_header(const std::vector<std::string>& names) {
    is_relative_ = false;
    std::vector<std::string> lower;
    for (const std::string& name : names) lower.push_back(lower_case(name));
    std::vector<bool> is_taken(names.size());
    const auto take = [&](std::string_view name) {
      const auto at = static_cast<std::size_t>(std::find(lower.begin(), lower.end(), name) - lower.begin());
      if (at == lower.size() || is_taken[at]) return false;
      columns_.push_back(at);
      is_taken[at] = true;
      return true;
    };
    for (std::size_t which = 0; which < k_usual.size(); ++which) {
      if (std::any_of(k_usual[which].begin(), k_usual[which].end(), take)) continue;
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format(
              "no column \"{}\"; a table of boxes has filename, class, xmin, ymin, xmax and ymax, that of Open Images "
              "{}; there are: {}",
              k_usual[which][0], joined(k_needed), printable(joined(names))));
    }
    has_names_ = false;
    const auto at = [&](const char* name) {
      return static_cast<std::size_t>(std::find(lower.begin(), lower.end(), name) - lower.begin());
    };
    if (at("width") != lower.size() && at("height") != lower.size()) size_columns_ = {at("width"), at("height")};
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (is_taken[i] || lower[i] == "width" || lower[i] == "height" || names[i].empty()) continue;
      const bool is_member = names[i] == "boxes" || names[i] == "labels" || names[i] == "names";  // of the field itself
      if (is_member) {
        left_out_.push_back(names[i]);
      } else {
        further_.emplace_back(names[i], i);
      }
    }
  }

  /// Open Images: the name of the file without its extension. Others: the path.
  std::string name_of(const std::string& image) const {
    return is_relative_ ? std::string(split_file_name(image.substr(image.rfind('/') + 1)).stem) : image;
  }

  void name_images(const FolderImages& folder) {
    for (std::uint32_t row = 0; row < folder.paths.size(); ++row) {
      const std::string& image = folder.paths[row];
      const auto [other, is_new] = rows_.try_emplace(name_of(image), row);
      if (!is_new) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("has the same ImageID as {}", printable(folder.paths[other->second])),
                    {.path = image, .hint = "leave one out with `exclude`"});
      }
      if (is_relative_) continue;
      const auto [same, is_only] = row_by_base_.try_emplace(image.substr(image.rfind('/') + 1), row);
      if (!is_only) same->second = k_no_row;
    }
  }

  /// The image that a cell names: by its path, or by its name alone if there is one such file.
  std::uint32_t row_named(const std::string& cell) const {
    const auto found = rows_.find(is_relative_ ? cell : clean_path(cell));
    if (found != rows_.end()) return found->second;
    const auto only = row_by_base_.find(cell);
    return only == row_by_base_.end() ? k_no_row : only->second;
  }

  void take_labels() {
    if (is_relative_) {
      std::vector<std::string> names;
      for (const auto& [name, word] : words_) names.push_back(name);
      labels_.take_names(std::move(names));
    } else {
      std::vector<LabelWord> words;
      for (const auto& [name, word] : words_) words.push_back(word);
      const std::vector<std::int64_t> numbers = labels_.take_words(words, path());
      for (std::size_t i = 0; i < words.size(); ++i) number_of_word_.emplace(words[i].text, numbers[i]);
      has_names_ = labels_.reading() == LabelReading::names;
    }
    words_ = {};
  }

  std::int64_t label_of(const std::string& cell) const {
    if (is_relative_) return labels_.number_of(cell, {});
    const auto found = number_of_word_.find(cell);
    if (found == number_of_word_.end()) {
      throw Error(ErrorCode::damaged, fmt::format("a box whose class is \"{}\"", printable(cell)));
    }
    return found->second;
  }

  /// A row without numbers says that its image has no boxes.
  bool is_empty(const std::vector<std::string>& cells) const {
    return !is_relative_ &&
           std::all_of(columns_.begin() + 2, columns_.end(), [&](std::size_t column) { return cells[column].empty(); });
  }

  void split(std::string_view record, std::vector<std::string>& cells) const {
    split_cells(record, delimiter_, cells);
    if (cells.size() != num_cells_) {
      throw Error(ErrorCode::damaged, fmt::format("{} cells, but the header has {}", cells.size(), num_cells_));
    }
    if (record.find('\n') != std::string_view::npos) throw Error(ErrorCode::damaged, "a cell with a line end");
    for (const std::size_t column : columns_) cells[column] = std::string(stripped(cells[column]));
  }

  void add_row(const RecordReader& reader, std::string& before, std::uint64_t& num_lost, std::string& first_lost) {
    split(reader.record(), cells_);
    const std::string& id = cells_[columns_[0]];
    const std::string& word = cells_[columns_[1]];
    require_utf8(word);
    if ((!is_relative_ || !labels_.has_map()) && !is_empty(cells_))
      words_.try_emplace(word, LabelWord{.text = word, .line = reader.line()});
    if (!is_relative_ && pixels_.is_open()) check_pixels();
    const std::uint32_t row = row_named(id);
    if (row == k_no_row) {
      if (id != before && num_lost++ == 0) first_lost = id;
      before = id;
      last_ = nullptr;
      return;
    }
    before = id;
    const std::uint64_t end = reader.offset() + reader.record().size();
    const bool is_next = last_ != nullptr && last_->image == row && end - last_->offset < k_max_piece;
    if (!is_next) {
      pieces_.push_back({reader.offset(), 0, row});
      last_ = &pieces_.back();
    }
    last_->bytes = static_cast<std::uint32_t>(end - last_->offset);
  }

  void check_pixels() {
    for (const std::size_t column : std::span(columns_).subspan(2)) {
      try {
        pixels_.add(parse_number(cells_[column]));
      } catch (const Error& error) {
        if (is_lack_of_resources(error)) throw;  // else reading the sample will report it
      }
    }
  }

  void sort_pieces(std::size_t num_images) {
    std::stable_sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) { return a.image < b.image; });
    starts_.assign(num_images + 1, 0);
    for (const Piece& piece : pieces_) ++starts_[piece.image + 1];
    for (std::size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
  }

  /// Sets `said` to the image's size if the row says it, unless an earlier one has.
  void add_box(std::string_view record, const SampleView& image, TargetText& targets,
               std::optional<ImageSize>& said) const {
    std::vector<std::string> cells;
    split(record, cells);
    if (size_columns_ && !said) {
      const auto width = whole_number<std::int32_t>(stripped(cells[size_columns_->first]));
      const auto height = whole_number<std::int32_t>(stripped(cells[size_columns_->second]));
      if (width && height) said = {static_cast<double>(*width), static_cast<double>(*height)};
    }
    if (is_empty(cells)) return;
    const std::int64_t label = label_of(cells[columns_[1]]);
    if (has_boxes_) {
      std::array<double, 4> box{};
      for (std::size_t i = 0; i < 4; ++i) box[i] = parse_number(cells[columns_[2 + i]]);
      if (is_relative_) {
        check_relative(box);
        const RelativeTo size(image);
        box = {box[0] * size.width, box[1] * size.height, box[2] * size.width, box[3] * size.height};
      }
      targets.add(box, label);
    } else {
      targets.add_label(label);
    }
    std::size_t list = 0;
    if (has_names_) targets.add_to(list++, json_of_text(cells[columns_[1]]));
    for (const auto& [name, column] : further_) {
      const std::string& cell = cells[column];
      targets.add_to(list++, !is_relative_  ? json_of_cell(cell)
                             : cell.empty() ? "null"
                                            : number_text(parse_number(cell)));
    }
  }

  static constexpr std::uint64_t k_max_piece = std::uint64_t{64} << 20;

  ListedText file_;
  std::vector<std::string> fields_{"boxes.json"};
  Labels labels_;
  bool is_relative_ = true;  // Open Images'
  bool has_boxes_ = true;
  bool has_names_ = true;                                       // of the classes of each box
  std::map<std::string, std::int64_t> number_of_word_;          // not of Open Images
  std::unordered_map<std::string, std::uint32_t> row_by_base_;  // likewise; k_no_row: several images have the name
  char delimiter_ = ',';
  std::size_t num_cells_ = 0;
  std::optional<std::pair<std::size_t, std::size_t>> size_columns_;  // of the image's width and height
  std::vector<std::size_t> columns_;                                 // of k_needed
  std::vector<std::pair<std::string, std::size_t>> further_;
  std::vector<std::string> left_out_;                    // names of the other columns
  std::unordered_map<std::string, std::uint32_t> rows_;  // by ImageID
  std::vector<Piece> pieces_;                            // in the order of the images
  std::vector<std::uint64_t> starts_;
  // While the table is listed:
  std::map<std::string, LabelWord, std::less<>> words_;
  std::vector<std::string> cells_;
  PixelCheck pixels_;
  Piece* last_ = nullptr;  // if the record before belongs to it
};

}  // namespace

std::unique_ptr<AnnotationSet> open_open_images(const std::string& path, const SourceOptions& options, AnnotationLog&) {
  return std::make_unique<OpenImages>(path, options);
}

}  // namespace bale
