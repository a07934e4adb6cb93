// COCO's annotation files (https://cocodataset.org/#format-data): instances, keypoints, captions, and panoptic
// segmentation. Images are packed in the order of their ids, and the annotations of an image are those of pycocotools
// in its order.
//
// The masks of panoptic/X.json are PNGs in the directory panoptic/X, as COCO's zip unpacks. They are stored as they
// are.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/writer/source/annotations/annotation_set.hpp"
#include "bale/writer/source/annotations/coco_elements.hpp"
#include "bale/writer/source/tables/record_reader.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_max_category = 1'000'000;

/// Numbers before texts.
bool is_id_before(const Json& a, const Json& b) {
  if (a.is_text() || b.is_text()) return !a.is_text() || (b.is_text() && a.as_text("id") < b.as_text("id"));
  if (a.kind() != b.kind()) return a.kind() == Json::Kind::negative;
  return a.kind() == Json::Kind::negative ? a.as_whole<std::int64_t>("id") < b.as_whole<std::int64_t>("id")
                                          : a.as_count("id") < b.as_count("id");
}

class Coco : public AnnotationSet {
 public:
  Coco(const std::string& path, const SourceOptions& options, AnnotationLog& log)
      : file_(path, "annotations"), labels_(options), masks_(path) {
    read(log);
    settle_kind();
    order_images();
    order_pieces(log);
    if (labels_.has_map()) labels_.take_names({});
    if (kind_ == Kind::panoptic) masks_.find(row_of_number_, images_, log);
    ids_ = {};
    numbers_ = {};
    row_of_number_ = {};
  }

  const std::string& path() const override { return file_.path(); }
  const std::vector<std::string>& fields() const override { return fields_; }
  const std::vector<std::string>& classes() const override {
    static const std::vector<std::string> k_none;
    if (kind_ == Kind::captions) return k_none;
    return labels_.has_map() ? labels_.classes() : categories_;
  }
  bool names_images() const override { return true; }
  std::vector<std::string> images() const override {
    if (kind_ != Kind::panoptic) return images_;
    std::vector<std::string> complete;
    for (std::size_t row = 0; row < images_.size(); ++row) {
      if (masks_.has(static_cast<std::uint32_t>(row))) complete.push_back(images_[row]);
    }
    return complete;
  }
  std::vector<std::string> places() const override {
    std::vector<std::string> all = {path()};
    if (kind_ == Kind::panoptic) all.push_back(masks_.directory());
    return all;
  }

  void match(const FolderImages& folder, AnnotationLog& log) override {
    find_places(folder);
    if (const std::string remark = pixels_.remark(); !remark.empty()) log.warn(path(), remark);
    if (kind_ == Kind::panoptic) return;  // such images are losses
    const auto empty = std::count_if(
        starts_.begin() + (starts_.empty() ? 0 : 1), starts_.end(),
        [before = std::uint64_t{0}](std::uint64_t start) mutable { return std::exchange(before, start) == start; });
    if (empty == 0) return;
    log.warn(path(),
             fmt::format("{} of {} images have no annotations; they are packed with none", empty, images_.size()));
  }

  std::uint32_t row_of(const std::string& image) const override {
    const auto found = rows_.find(image);
    if (found == rows_.end() || (kind_ == Kind::panoptic && !masks_.has(found->second))) return k_no_row;
    return found->second;
  }

  std::uint64_t bytes(std::uint32_t row, std::size_t which) const override {
    std::uint64_t sum = 2;
    if (is_mask(which)) return row == k_no_row ? 0 : masks_.bytes(row);
    if (row == k_no_row) return sum;
    for (std::uint64_t i = starts_[row]; i < starts_[row + 1]; ++i) sum += pieces_[i].bytes + 1;
    return sum;
  }

  std::optional<ImageSize> append(std::uint32_t row, std::size_t which, const SampleView&,
                                  std::string& out) const override {
    if (kind_ == Kind::panoptic && row == k_no_row) {
      throw Error(ErrorCode::damaged, "an image without a panoptic annotation", {.path = path()});
    }
    if (is_mask(which)) {
      masks_.append(row, out);
      return sizes_[row];
    }
    if (row == k_no_row) {
      out += "[]";
      return std::nullopt;
    }
    char before = '[';
    std::string text;
    for (std::uint64_t i = starts_[row]; i < starts_[row + 1]; ++i) {
      text.clear();
      file_.append(pieces_[i].offset, pieces_[i].bytes, text);
      if (kind_ != Kind::panoptic) out += std::exchange(before, ',');
      try {
        add_annotation(text, out);
      } catch (const Error& error) {
        throw Error(error.code(), error.message(),
                    {.path = path(), .offset = pieces_[i].offset, .hint = error.context().hint});
      }
    }
    if (kind_ == Kind::panoptic) return sizes_[row];  // its one annotation is a list
    if (before == '[') out += '[';
    out += ']';
    return kind_ == Kind::captions ? std::nullopt : sizes_[row];
  }

  void append_identity(std::uint32_t row, std::string& out) const override {
    if (row == k_no_row) return;
    std::string text;
    for (std::uint64_t i = starts_[row]; i < starts_[row + 1]; ++i) {
      file_.append(pieces_[i].offset, pieces_[i].bytes, text);
    }
    out += text;
    if (kind_ == Kind::panoptic) masks_.append_identity(row, out);
  }

 private:
  enum class Kind { boxes, keypoints, captions, panoptic };
  struct Piece {
    std::uint64_t offset;
    std::uint32_t bytes;
    std::uint32_t image;  // number of the id, later the row
  };
  struct Id {
    Json value;
    std::string file_name;  // empty: not in "images"
    std::optional<ImageSize> size{};
  };

  /// An annotation as it is in the file; a caption as its text.
  void add_annotation(const std::string& text, std::string& out) const {
    Json annotation = parse_element(text, /*whole=*/true);
    if (kind_ == Kind::captions) {
      out += Json(annotation.text("caption")).dump();
      return;
    }
    if (kind_ == Kind::panoptic) {
      const Json listed = segments_of(annotation);
      Json segments = Json::array();
      for (Json segment : listed.as_list("segments_info")) {
        number_category(segment, categories_, labels_);
        segments.push_back(std::move(segment));
      }
      out += segments.dump();
      return;
    }
    check_object(annotation);
    if (kind_ == Kind::keypoints) check_keypoints(annotation);
    const bool is_kept = !labels_.has_map() && annotation.at("category_id").is_whole();
    number_category(annotation, categories_, labels_);
    out += is_kept ? without_nan(text) : annotation.dump();
  }

  void read(AnnotationLog& log) {
    JsonElements elements(path());
    bool has_images = false;
    std::uint64_t num_without_image = 0;
    std::uint64_t first_without = 0;
    while (elements.next()) {
      try {
        if (elements.array() == "images") {
          has_images = true;
          add_image(parse_element(elements.element()));
        } else if (elements.array() == "categories") {
          add_category(parse_element(elements.element()));
        } else if (elements.array() == "annotations") {
          const Json annotation = parse_element(elements.element());
          const Json id = id_in(annotation, "image_id");
          if (id.is_null()) {
            if (num_without_image++ == 0) first_without = elements.offset();
            continue;
          }
          count_kind(annotation, id);
          if (pixels_.is_open()) add_box(annotation, pixels_);
          pieces_.push_back({elements.offset(), static_cast<std::uint32_t>(elements.element().size()), number_of(id)});
        }
      } catch (const Error& error) {
        if (!error.context().path.empty()) throw;
        throw Error(error.code(), fmt::format("in \"{}\": {}", printable(elements.array()), error.message()),
                    {.path = path(), .offset = elements.offset()});
      }
    }
    if (!has_images) throw Error(ErrorCode::damaged, "no \"images\", which COCO's annotations have", {.path = path()});
    if (num_without_image > 0) {
      log.lose(path(), fmt::format("{} annotations have no \"image_id\"", num_without_image), num_without_image,
               first_without);
    }
  }

  void settle_kind() {
    if (num_panoptic_ > 0 && num_panoptic_ == pieces_.size()) {
      kind_ = Kind::panoptic;
      fields_ = {"panoptic.png", "segments.json"};
    } else if (num_panoptic_ > 0) {
      throw Error(ErrorCode::damaged, "some annotations have \"segments_info\" and others do not", {.path = path()});
    } else if (num_captions_ > 0 && num_captions_ == pieces_.size()) {
      kind_ = Kind::captions;
      fields_ = {"captions.json"};
    } else if (num_keypoints_ > 0 && num_keypoints_ == pieces_.size()) {
      kind_ = Kind::keypoints;
      fields_ = {"keypoints.json"};
    }
  }

  void count_kind(const Json& annotation, const Json& image_id) {
    if (annotation.contains("segments_info")) {
      ++num_panoptic_;
      masks_.add(number_of(image_id), mask_name_of(annotation));
    }
    if (annotation.contains("caption") && !annotation.contains("bbox")) ++num_captions_;  // else a caption of an object
    if (annotation.contains("keypoints")) ++num_keypoints_;
  }

  std::uint32_t number_of(const Json& id) {
    const auto [at, is_new] = numbers_.try_emplace(id.dump(), static_cast<std::uint32_t>(ids_.size()));
    if (is_new) ids_.push_back({id, {}, {}});
    return at->second;
  }

  void add_image(const Json& image) {
    const Json image_id = id_in(image, "id");
    if (image_id.is_null()) throw Error(ErrorCode::damaged, "an image without an \"id\"");
    ImageName name = image_name_of(image);
    Id& id = ids_[number_of(image_id)];
    if (!id.file_name.empty())
      throw Error(ErrorCode::damaged, fmt::format("two images have the id {}", image_id.dump()));
    if (!name.without_directory.empty()) other_places_.emplace(name.path, std::move(name.without_directory));
    id.file_name = std::move(name.path);
    const Json* const width = image.find("width");
    const Json* const height = image.find("height");
    const bool has_size = width != nullptr && width->is_number() && height != nullptr && height->is_number();
    if (has_size) id.size = ImageSize{width->as_real("width"), height->as_real("height")};
  }

  /// Images that are named by URLs lie in the folder itself, or in its directory of the URL's.
  void find_places(const FolderImages& folder) {
    if (other_places_.empty()) return;
    const std::unordered_set<std::string> there(folder.paths.begin(), folder.paths.end());
    for (const auto& [path, other] : other_places_) {
      if (there.contains(path) || !there.contains(other)) continue;
      const auto row = rows_.extract(path);
      if (!rows_.try_emplace(other, row.mapped()).second) continue;  // of another directory: reading it will report it
      images_[row.mapped()] = other;
    }
  }

  void add_category(const Json& category) {
    const Json id = id_in(category, "id");
    const Json* const name = category.find("name");
    if (!id.is_whole() || name == nullptr || !name->is_text()) {
      throw Error(ErrorCode::damaged, "a category without an \"id\" and a \"name\"");
    }
    if (!id.is_whole_within(0, k_max_category)) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("a category with the id {}, not one of 0..{}", id.dump(), k_max_category));
    }
    const auto at = id.as_whole<std::size_t>("id");
    if (categories_.size() <= at) categories_.resize(at + 1);
    if (!categories_[at].empty()) throw Error(ErrorCode::damaged, fmt::format("two categories have the id {}", at));
    categories_[at] = name->as_text("name");
  }

  /// Gives each image of "images" its row, in the order of the ids.
  void order_images() {
    std::vector<std::uint32_t> order;
    for (std::uint32_t number = 0; number < ids_.size(); ++number) {
      if (!ids_[number].file_name.empty()) order.push_back(number);
    }
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return is_id_before(ids_[a].value, ids_[b].value); });
    row_of_number_.assign(ids_.size(), k_no_row);
    for (const std::uint32_t number : order) {
      const auto row = static_cast<std::uint32_t>(images_.size());
      row_of_number_[number] = row;
      if (!rows_.try_emplace(ids_[number].file_name, row).second) {
        throw Error(ErrorCode::damaged,
                    fmt::format("two images have the file_name \"{}\"", printable(ids_[number].file_name)),
                    {.path = path()});
      }
      images_.push_back(std::move(ids_[number].file_name));
      sizes_.push_back(ids_[number].size);
    }
  }

  void order_pieces(AnnotationLog& log) {
    std::uint64_t num_lost = 0;
    std::vector<bool> is_lost(ids_.size());
    std::optional<Piece> first;
    for (Piece& piece : pieces_) {
      const std::uint32_t number = std::exchange(piece.image, row_of_number_[piece.image]);
      if (piece.image != k_no_row) continue;
      if (!first) first = {piece.offset, piece.bytes, number};
      if (!is_lost[number]) ++num_lost;
      is_lost[number] = true;
    }
    if (first) {
      log.lose(path(),
               fmt::format("annotations of {} that \"images\" does not have, such as {}", plural(num_lost, "id"),
                           printable(ids_[first->image].value.dump())),
               num_lost, first->offset);
      std::erase_if(pieces_, [](const Piece& piece) { return piece.image == k_no_row; });
    }
    std::stable_sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) { return a.image < b.image; });
    starts_.assign(images_.size() + 1, 0);
    for (const Piece& piece : pieces_) ++starts_[piece.image + 1];
    for (std::size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
  }

  bool is_mask(std::size_t which) const { return kind_ == Kind::panoptic && which == 0; }

  ListedText file_;
  Kind kind_ = Kind::boxes;
  std::vector<std::string> fields_ = {"boxes.json"};
  Labels labels_;
  std::vector<std::string> categories_;  // by id
  std::vector<std::string> images_;      // by row
  std::vector<std::optional<ImageSize>> sizes_;
  std::unordered_map<std::string, std::uint32_t> rows_;
  std::map<std::string, std::string> other_places_;  // of images that are named by URLs
  std::vector<Piece> pieces_;                        // in the order of their images
  std::vector<std::uint64_t> starts_;
  std::uint64_t num_captions_ = 0;
  std::uint64_t num_keypoints_ = 0;
  std::uint64_t num_panoptic_ = 0;
  PixelCheck pixels_;
  PanopticMasks masks_;  // of Kind::panoptic
  // While the file is listed:
  std::vector<Id> ids_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<std::uint32_t> row_of_number_;
};

}  // namespace

std::unique_ptr<AnnotationSet> open_coco(const std::string& path, const SourceOptions& options, AnnotationLog& log) {
  return std::make_unique<Coco>(path, options, log);
}

}  // namespace bale
