// Open Images: a table with one box per row, in parts of the image's sides
// (https://storage.googleapis.com/openimages/web/download_v7.html).
#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/writer/source/annotations/annotation_set.hpp"
#include "bale/writer/source/annotations/relative_box.hpp"
#include "bale/writer/source/annotations/target_text.hpp"
#include "bale/writer/source/file_rows.hpp"
#include "bale/writer/source/labels.hpp"
#include "bale/writer/source/listed_text.hpp"
#include "bale/writer/source/record_reader.hpp"

namespace bale {
namespace {

constexpr std::array<std::string_view, 6> k_needed{"ImageID", "LabelName", "XMin", "YMin", "XMax", "YMax"};
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
    for (std::uint32_t row = 0; row < folder.paths.size(); ++row) {
      const std::string& image = folder.paths[row];
      const std::string name(image.substr(image.rfind('/') + 1));
      const auto [other, is_new] = rows_.try_emplace(std::string(split_file_name(name).stem), row);
      if (is_new) continue;
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("has the same ImageID as {}", printable(folder.paths[other->second])),
                  {.path = image, .hint = "leave one out with `exclude`"});
    }
    RecordReader reader(path(), RecordKind::csv);
    std::uint64_t num_lost = 0;
    std::string first_lost;
    try {
      if (reader.next()) set_header(reader.record());
      std::string before;
      while (reader.next()) {
        if (!reader.record().empty()) add_row(reader, before, num_lost, first_lost);
      }
    } catch (const Error& error) {
      rethrow_at_line(error, path(), reader.line());
    }
    if (columns_.empty()) throw Error(ErrorCode::damaged, "an empty table", {.path = path()});
    sort_pieces(folder.paths.size());
    labels_.take_names({names_.begin(), names_.end()});
    names_ = {};
    if (num_lost > 0) {
      log.lose(path(),
               fmt::format("boxes of {} images that are not in {}, such as {}", num_lost, printable(folder.root),
                           printable(first_lost)),
               num_lost);
    }
    std::uint64_t num_bare = 0;
    for (std::size_t row = 0; row < folder.paths.size(); ++row) num_bare += starts_[row] == starts_[row + 1] ? 1 : 0;
    if (num_bare > 0) {
      log.warn(path(), fmt::format("{} of {} images have no rows; they are packed without boxes", num_bare,
                                   folder.paths.size()));
    }
  }

  std::uint32_t row_of(const std::string& image) const override {
    const auto found = rows_.find(std::string(split_file_name(image.substr(image.rfind('/') + 1)).stem));
    return found == rows_.end() ? k_no_row : found->second;
  }
  std::uint64_t bytes(std::uint32_t row, std::size_t) const override {
    std::uint64_t sum = 40;
    if (row == k_no_row) return sum;
    for (std::uint64_t i = starts_[row]; i < starts_[row + 1]; ++i) sum += pieces_[i].bytes;
    return sum;
  }

  void append(std::uint32_t row, std::size_t, const SampleView& image, std::string& out) const override {
    std::vector<std::string> lists{"names"};
    for (const auto& [name, column] : further_) lists.emplace_back(name);
    TargetText targets(std::move(lists));
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
          if (!record.empty()) add_box(record, image, targets);
        } catch (const Error& error) {
          throw Error(error.code(), error.message(), {.path = path(), .offset = offset, .hint = error.context().hint});
        }
      }
    }
    targets.append_to(out);
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
    split_cells(record, ',', names);
    num_cells_ = names.size();
    const auto column = [&](std::string_view name) {
      return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    };
    for (const std::string_view name : k_needed) {
      columns_.push_back(column(name));
      if (columns_.back() == names.size()) {
        throw Error(ErrorCode::invalid_argument, fmt::format("no column {}, which boxes of Open Images have", name));
      }
    }
    for (const std::string_view name : k_further) {
      if (column(name) != names.size()) further_.emplace_back(name, column(name));
    }
  }

  void split(std::string_view record, std::vector<std::string>& cells) const {
    split_cells(record, ',', cells);
    if (cells.size() != num_cells_) {
      throw Error(ErrorCode::damaged, fmt::format("{} cells, but the header has {}", cells.size(), num_cells_));
    }
    if (record.find('\n') != std::string_view::npos) throw Error(ErrorCode::damaged, "a cell with a line end");
  }

  void add_row(const RecordReader& reader, std::string& before, std::uint64_t& num_lost, std::string& first_lost) {
    split(reader.record(), cells_);
    const std::string& id = cells_[columns_[0]];
    if (!labels_.has_map()) names_.insert(cells_[columns_[1]]);
    const auto found = rows_.find(id);
    if (found == rows_.end()) {
      if (id != before && num_lost++ == 0) first_lost = id;
      before = id;
      last_ = nullptr;
      return;
    }
    before = id;
    const std::uint64_t end = reader.offset() + reader.record().size();
    const bool is_next = last_ != nullptr && last_->image == found->second && end - last_->offset < k_max_piece;
    if (!is_next) {
      pieces_.push_back({reader.offset(), 0, found->second});
      last_ = &pieces_.back();
    }
    last_->bytes = static_cast<std::uint32_t>(end - last_->offset);
  }

  void sort_pieces(std::size_t num_images) {
    std::stable_sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) { return a.image < b.image; });
    starts_.assign(num_images + 1, 0);
    for (const Piece& piece : pieces_) ++starts_[piece.image + 1];
    for (std::size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
  }

  void add_box(std::string_view record, const SampleView& image, TargetText& targets) const {
    std::vector<std::string> cells;
    split(record, cells);
    std::array<double, 4> box{};
    for (std::size_t i = 0; i < 4; ++i) box[i] = parse_number(cells[columns_[2 + i]]);
    check_relative(box);
    const RelativeTo size(image);
    targets.add({box[0] * size.width, box[1] * size.height, box[2] * size.width, box[3] * size.height},
                labels_.number_of(cells[columns_[1]], {}));
    targets.add_to(0, json_of_text(cells[columns_[1]]));
    for (std::size_t i = 0; i < further_.size(); ++i) {
      const std::string& cell = cells[further_[i].second];
      targets.add_to(i + 1, cell.empty() ? "null" : number_text(parse_number(cell)));
    }
  }

  static constexpr std::uint64_t k_max_piece = std::uint64_t{64} << 20;

  ListedText file_;
  std::vector<std::string> fields_{"boxes.json"};
  Labels labels_;
  std::size_t num_cells_ = 0;
  std::vector<std::size_t> columns_;  // of k_needed
  std::vector<std::pair<std::string, std::size_t>> further_;
  std::unordered_map<std::string, std::uint32_t> rows_;  // by ImageID
  std::vector<Piece> pieces_;                            // in the order of the images
  std::vector<std::uint64_t> starts_;
  // While the table is listed:
  std::set<std::string, std::less<>> names_;
  std::vector<std::string> cells_;
  Piece* last_ = nullptr;  // if the record before belongs to it
};

}  // namespace

std::unique_ptr<AnnotationSet> open_open_images(const std::string& path, const SourceOptions& options, AnnotationLog&) {
  return std::make_unique<OpenImages>(path, options);
}

}  // namespace bale
