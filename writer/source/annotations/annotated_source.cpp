// The images of a folder with their annotations as further fields.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <unordered_set>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/writer/source/annotations/annotation_set.hpp"
#include "bale/writer/source/choose/chosen_source.hpp"
#include "bale/writer/source/files/long_path.hpp"
#include "bale/writer/source/folder/folder_walk.hpp"
#include "bale/writer/source/rows/file_source.hpp"
#include "bale/writer/source/rows/source_root.hpp"
#include "bale/writer/source/tables/listed_files.hpp"
#include "bale/writer/source/tables/record_reader.hpp"

namespace bale {

void AnnotationLog::lose(const std::string& path, const std::string& why, std::uint64_t num_samples,
                         std::optional<std::uint64_t> offset) {
  if (!skip_) {
    throw Error(ErrorCode::damaged, why,
                {.path = path, .offset = offset, .hint = "leave them out with `on_error` skip, which lists them"});
  }
  losses_.push_back({path, why, num_samples});
}

void AnnotationLog::warn(const std::string& path, std::string_view what) {
  NoticeLog remark;
  remark.warn(what);
  notices_.merge(remark, path);
}

namespace {

using Sets = std::vector<std::unique_ptr<AnnotationSet>>;

/// Whether a file that lies among images probably has annotations.
bool is_annotation_name(std::string_view name) {
  static constexpr std::array<std::string_view, 7> k_extensions{"cache", "csv", "json", "txt", "xml", "yaml", "yml"};
  const std::string extension = lower_case(split_file_name(base_name(std::string(name))).extension);
  return std::find(k_extensions.begin(), k_extensions.end(), extension) != k_extensions.end();
}

struct Annotations {
  Sets sets;
  std::vector<std::vector<std::uint32_t>> rows;  // per set, of each sample

  /// The set that has extra field `which`, and the field's number in it.
  std::pair<std::size_t, std::size_t> place_of(std::size_t which) const {
    std::size_t set = 0;
    while (which >= sets[set]->fields().size()) which -= sets[set++]->fields().size();
    return {set, which};
  }
  std::vector<std::string> fields() const {
    std::vector<std::string> all;
    for (const auto& set : sets) all.insert(all.end(), set->fields().begin(), set->fields().end());
    return all;
  }
};

std::string other_sizes_text(std::uint64_t count, const std::string& first) {
  return fmt::format("{} another size than the annotations say, so that boxes and masks may be wrong; the first {}",
                     count == 1 ? "1 image has" : plural(count, "image") + " have", first);
}

class AnnotatedSource : public FileSource {
 public:
  AnnotatedSource(FileListing listing, Annotations annotations)
      : FileSource(std::move(listing), annotations.fields()), annotations_(std::move(annotations)) {}

  /// Boxes may depend on the size of the image, which is not known without reading it.
  std::string save_head() const override { return Source::save_head(); }
  std::function<void(NoticeLog& log)> read_notices() const override {
    return [of_files = FileSource::read_notices(), sizes = other_sizes_](NoticeLog& log) {
      of_files(log);
      sizes->report(log, other_sizes_text);
    };
  }

 protected:
  std::uint64_t extra_bytes(std::uint64_t i, std::size_t which) const override {
    const auto [set, field] = annotations_.place_of(which);
    return annotations_.sets[set]->bytes(annotations_.rows[set][i], field);
  }
  void append_extra(std::uint64_t i, std::size_t which, const SampleView& image, std::string& out) const override {
    const auto [set, field] = annotations_.place_of(which);
    try {
      const AnnotationSet& annotations = *annotations_.sets[set];
      const std::optional<ImageSize> said = annotations.append(annotations_.rows[set][i], field, image, out);
      if (said) compare_size(i, *said, image, annotations.path());
    } catch (const Error& error) {
      ErrorContext context = error.context();
      SourceSample sample;
      describe(i, sample);
      context.key = sample.key;
      throw Error(error.code(), error.message(), std::move(context));
    }
  }
  void append_extra_identity(std::uint64_t i, std::string& out) const override {
    for (std::size_t set = 0; set < annotations_.sets.size(); ++set) {
      annotations_.sets[set]->append_identity(annotations_.rows[set][i], out);
      out += '\t';
    }
  }

 private:
  void compare_size(std::uint64_t i, const ImageSize& said, const SampleView& image, const std::string& place) const {
    const bool is_unknown = image.width == 0 || said.width <= 0 || said.height <= 0;  // tools write 0 x 0
    if (is_unknown || (said.width == image.width && said.height == image.height)) return;
    const std::string sizes = fmt::format("{} x {}, not {} x {}", image.width, image.height, said.width, said.height);
    if (is_strict()) {
      throw Error(ErrorCode::damaged, fmt::format("the image is {}, as the annotations say", sizes),
                  {.path = place, .hint = "correct one of them, or leave `strict` out"});
    }
    other_sizes_->add(i, place, fmt::format("is {} of {}", printable(origin(i)), sizes));
  }

  Annotations annotations_;
  std::shared_ptr<RemarkedSamples> other_sizes_ = std::make_shared<RemarkedSamples>();
};

class AnnotatedLister {
 public:
  AnnotatedLister(const std::string& path, const SourceOptions& options) : path_(path), options_(options) {
    while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
    struct stat info {};
    is_list_ = stat_long_path(path_, info) == 0 && !S_ISDIR(info.st_mode);
    if (options.flat || options.allow_empty || (!options.root.empty() && !is_list_)) {
      throw Error(ErrorCode::invalid_argument, "`annotations` excludes `flat`, `allow_empty` and `root`",
                  {.hint = "images with annotations have no class folders"});
    }
  }

  std::unique_ptr<Source> list() {
    std::optional<FolderImages> listed;
    if (is_list_) listed = read_list();
    const std::string root = listed ? listed->root : path_;
    ListedFiles files(options_, root == "." ? "" : root);
    FileListing& listing = files.listing();
    AnnotationLog log(options_.skip_damaged, listing.notices, listing.losses);
    const FolderImages folder = listed ? *std::move(listed) : walk(listing);
    Annotations annotations;
    for (const std::string& path : options_.annotations) {
      annotations.sets.push_back(open_annotations(path, options_, log));
      annotations.sets.back()->match(folder, log);
    }
    annotations.rows.resize(annotations.sets.size());
    std::unordered_set<std::string> taken;
    for (const std::string& image : images_of(annotations.sets, folder)) {
      if (!add(files, image, taken)) continue;
      for (std::size_t set = 0; set < annotations.sets.size(); ++set) {
        annotations.rows[set].push_back(annotations.sets[set]->row_of(image));
      }
    }
    for (const std::string& image : folder.paths) {
      if (!is_list_ && !taken.contains(image)) listing.notices.add(image, "image that the annotations do not name");
    }
    if (listing.rows.samples().empty()) {
      throw Error(ErrorCode::invalid_argument, "no image to pack",
                  {.path = path_, .hint = "name the folder of the images"});
    }
    listing.classes = classes_of(annotations.sets);
    for (const auto& set : annotations.sets) {
      std::vector<std::string> places = is_list_ ? std::vector{set->path()} : set->places();
      listing.places.insert(listing.places.end(), places.begin(), places.end());
    }
    if (!is_list_) listing.places.push_back(path_);
    FileListing found = files.finish(path_);
    note_unused_options(options_,
                        {"pair", "pair_path", "annotations", "annotations_format", "class_map", "list_jobs",
                         "keep_extensions", is_list_ ? "root" : ""},
                        "these are images with annotations", path_, found.notices);
    return std::make_unique<AnnotatedSource>(std::move(found), std::move(annotations));
  }

 private:
  /// The images of a list, as YOLO's train.txt: relative to `root`, or to where they are found: the current directory,
  /// or that of the list.
  FolderImages read_list() const {
    FolderImages images{.root = options_.root.empty() ? "." : options_.root, .paths = {}, .is_list = true};
    RecordReader reader(path_, RecordKind::lines);
    struct stat info {};
    while (reader.next()) {
      const std::string_view line = stripped(reader.record());
      if (line.empty()) continue;
      std::string image = clean_path(line);
      if (images.paths.empty() && options_.root.empty()) {
        if (image.starts_with('/')) {
          images.root = "/";
        } else if (stat_long_path(image, info) != 0) {
          images.root = parent_directory(path_);
        }
      }
      const std::string prefix = images.root == "/" ? "/" : images.root + "/";
      if (image.starts_with(prefix)) image.erase(0, prefix.size());
      if (image.starts_with('/') || image.rfind('.') == std::string::npos || image.ends_with('.')) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("line {}: \"{}\" is not the path of an image below {}", reader.line(), printable(line),
                                images.root),
                    {.path = path_, .hint = "name the directory in which all images are with `root`"});
      }
      images.paths.push_back(std::move(image));
    }
    return images;
  }

  FolderImages walk(FileListing& listing) {
    WalkRules rules{.wanted = is_image_name, .skip_unreadable = options_.skip_damaged};
    NoticeLog others(std::numeric_limits<std::size_t>::max());
    DirectoryWalk walk(path_, std::move(rules), others, listing.losses, list_jobs(options_));
    FolderImages folder{.root = path_, .paths = {}};
    for (const DirectoryFiles& files : walk.files_below(path_)) {
      const std::size_t skip =
          files.path().size() == path_.size() ? path_.size() : path_.size() + (path_ == "/" ? 0 : 1);
      for (std::size_t i = 0; i < files.size(); ++i) {
        folder.paths.push_back(below(std::string_view(files.path()).substr(skip), files[i]));
      }
    }
    for (const Notice& notice : others.kept()) {
      if (!is_annotation_name(notice.name)) listing.notices.add(notice.name, notice.why);
    }
    return folder;
  }

  /// The images to pack.
  static std::vector<std::string> images_of(const Sets& sets, const FolderImages& folder) {
    const auto names_images = [](const auto& set) { return set->names_images(); };
    const auto naming = std::find_if(sets.begin(), sets.end(), names_images);
    if (naming == sets.end()) return folder.paths;
    if (folder.is_list) {
      throw Error(ErrorCode::invalid_argument, "the annotations name the images, and the source is a list of images",
                  {.path = (*naming)->path(), .hint = "give the folder of the images"});
    }
    std::vector<std::string> images;
    std::unordered_set<std::string> seen;
    for (const auto& set : sets) {
      for (std::string& image : set->images()) {
        if (seen.insert(image).second) images.push_back(std::move(image));
      }
    }
    return images;
  }

  /// Adds its path below the folder to `taken`, however the annotations write it.
  bool add(ListedFiles& files, const std::string& image, std::unordered_set<std::string>& taken) const {
    try {
      const ListedFiles::Place place = files.place_of(image);
      taken.insert(place.path);
      return files.add(place) != nullptr;
    } catch (const Error& error) {
      if (!error.context().path.empty()) throw;
      throw Error(error.code(), error.message(), {.path = options_.annotations.front()});
    }
  }

  std::vector<std::string> classes_of(const Sets& sets) const {
    const AnnotationSet* named = nullptr;
    for (const auto& set : sets) {
      if (set->classes().empty()) continue;
      if (named != nullptr && named->classes() != set->classes()) {
        throw Error(ErrorCode::invalid_argument, fmt::format("other classes than {}", printable(named->path())),
                    {.path = set->path(), .hint = "pack annotations with the same classes, or each on its own"});
      }
      named = set.get();
    }
    return named == nullptr ? std::vector<std::string>() : named->classes();
  }

  std::string path_;
  const SourceOptions& options_;
  bool is_list_ = false;
};

}  // namespace

std::unique_ptr<Source> open_annotated_source(const std::string& path, const SourceOptions& options) {
  return AnnotatedLister(path, options).list();
}

}  // namespace bale
