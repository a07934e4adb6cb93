// ImageFolder as in torchvision.datasets.folder (find_classes, make_dataset). Classes are the first-level directories.
// Samples are the files below them whose lower-case names end in the extension of an image that bale decodes. These are
// more than ImageFolder takes, and the classes are the same: all folders.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/reader/spec/directory_content.hpp"
#include "bale/writer/source/choose/chosen_source.hpp"
#include "bale/writer/source/classes/class_folders.hpp"
#include "bale/writer/source/classes/labels.hpp"
#include "bale/writer/source/files/directory_listing.hpp"
#include "bale/writer/source/folder/folder_walk.hpp"
#include "bale/writer/source/folder/name_filter.hpp"
#include "bale/writer/source/rows/file_source.hpp"
#include "bale/writer/source/rows/pair_rules.hpp"

namespace bale {
namespace {

constexpr std::size_t k_max_named_classes = 20;

class FolderLister {
 public:
  FolderLister(const std::string& path, const SourceOptions& options)
      : root_(path),
        options_(options),
        labels_(options),
        filter_(options.include, options.exclude, path),
        pair_(options) {
    while (root_.size() > 1 && root_.ends_with('/')) root_.pop_back();
    distant_ = DistantFiles(root_);
    listing_.name_companions(pair_);
    listing_.rows.keep_extensions(options.keep_extensions);
    listing_.jobs = list_jobs(options);
    listing_.strict = options.strict;
  }

  FileListing list(std::optional<DirectoryListing> entries) {
    listing_.places = {root_};
    if (!entries) entries = listing_of(root_);
    if (options_.flat) {
      walk().give(*std::move(entries));
      add_tree(root_, k_no_label);
      if (!found_any_) refuse("no image in the folder", fmt::format("images end in {}", image_extensions()));
    } else {
      TopLevel top = top_level_of(*entries);
      std::erase_if(top.directories, [&](const std::string& name) { return is_excluded(name) || is_packed(name); });
      add_classes(top);
    }
    if (num_hidden_ > 0) {
      NoticeLog found;
      found.warn(
          fmt::format("{} in hidden or system folders are packed, such as those in {}; leave them out with "
                      "`exclude` if they are not meant",
                      plural(num_hidden_, "image"), printable(hidden_)));
      listing_.notices.merge(found, root_);
    }
    if (listing_.rows.samples().empty() && !may_be_empty()) {
      refuse("`include` and `exclude` leave no image", filter_.advice());
    }
    for (std::string& place : distant_.places(listing_.rows)) listing_.places.push_back(std::move(place));
    filter_.note_unmatched(listing_.notices, root_);
    if (options_.flat) {
      note_unused_options(options_, {"pair", "pair_path", "allow_empty", "flat", "list_jobs", "keep_extensions"},
                          "the folder is packed without class folders", root_, listing_.notices);
    } else {
      note_unused_options(options_, {"class_map", "pair", "pair_path", "allow_empty", "list_jobs", "keep_extensions"},
                          "this is a folder of class folders", root_, listing_.notices);
    }
    return std::move(listing_);
  }

 private:
  [[noreturn]] void refuse(std::string_view why, std::string hint) const {
    throw Error(ErrorCode::invalid_argument, why, {.path = root_, .hint = std::move(hint)});
  }

  /// An excluded folder is not a class and is not read.
  bool is_excluded(const std::string& name) {
    if (!filter_.excludes_directory(name)) return false;
    listing_.notices.leave_out(below(root_, name), NameFilter::k_excluded_directory);
    return true;
  }

  /// A packed dataset in the folder is not a class. DirectoryWalk leaves out those further down.
  bool is_packed(const std::string& name) {
    if (!is_pack(below(root_, name))) return false;
    listing_.notices.add(below(root_, name), k_is_packed_dataset);
    return true;
  }

  /// Those that are not fetched would shift the numbers of the other classes.
  void lose_broken_classes(const TopLevel& top) {
    for (const std::string& name : top.broken_links) {
      if (filter_.excludes_directory(name)) continue;
      const Error error = broken_directory_link(below(root_, name));
      if (!options_.skip_damaged) throw Error(error);
      listing_.losses.push_back({.path = error.context().path, .why = why_skipped(error)});
    }
  }

  void pass_over_files(const TopLevel& top) {
    for (const std::string& name : top.files) {
      const std::string path = below(root_, name);
      if (filter_.excludes(name)) {
        listing_.notices.leave_out(path, NameFilter::k_filtered);
      } else if (!std::binary_search(top.broken_links.begin(), top.broken_links.end(), name, python_less)) {
        listing_.notices.add(path, why_ignored(name, "not in a class folder"));
      }
    }
  }

  void add_classes(const TopLevel& top) {
    lose_broken_classes(top);
    if (top.directories.empty()) {
      if (std::any_of(top.files.begin(), top.files.end(), is_image_name)) {
        refuse("the images are not in class folders", "give `flat` to pack them without labels");
      }
      refuse(fmt::format("Couldn't find any class folder in {}.", printable(root_)),
             "put the images of each class into a folder of its own");
    }
    pass_over_files(top);
    labels_.take_names(top.directories);
    labels_.mention_joined(root_, listing_.notices);
    listing_.classes = labels_.classes();
    for (auto name = top.directories.rbegin(); name != top.directories.rend(); ++name) {
      if (!filter_.excludes_all_in(*name)) walk().announce(below(root_, *name));
    }
    std::vector<std::string> empty;
    for (const std::string& name : top.directories) {
      const std::string path = below(root_, name);
      found_any_ = false;
      const std::int64_t label = labels_.number_of(name, path);
      if (filter_.excludes_all_in(name)) {
        listing_.notices.leave_out(path, NameFilter::k_excluded_directory);
        continue;
      }
      add_tree(path, label);
      if (!found_any_) empty.push_back(name);
    }
    if (!labels_.has_map()) {  // whoever chooses has seen what is below
      const bool are_all = filter_.takes_all();
      warn_of_odd_class_folders(root_, top.directories, have_folders_ && are_all, are_all, listing_.notices);
    }
    if (!empty.empty() && !may_be_empty()) refuse_empty_classes(empty);
  }

  [[noreturn]] void refuse_empty_classes(const std::vector<std::string>& empty) const {
    std::string names;
    for (std::size_t i = 0; i < std::min(empty.size(), k_max_named_classes); ++i) {
      names += fmt::format("{}{}", i == 0 ? "" : ", ", printable(empty[i]));
    }
    if (empty.size() > k_max_named_classes) names += fmt::format(", ... ({} in all)", empty.size());
    refuse(
        fmt::format("Found no valid file for the classes {}. Supported extensions are: {}", names, image_extensions()),
        advice_on_empty(empty) + "remove the empty folders, leave them out with `exclude`, or give `allow_empty`");
  }

  /// Names what the first of these folders that has other files has, such as shards: it may be what is meant.
  std::string advice_on_empty(const std::vector<std::string>& empty) const {
    for (const std::string& name : empty) {
      const std::string path = below(root_, name);
      try {
        const TopLevel top = top_level_of(listing_of(path));
        if (top.files.empty()) continue;
        return fmt::format("pack {} if files such as {} are the dataset; else ", printable(path),
                           printable(top.files.front()));
      } catch (const Error&) {  // it was listed before
      }
    }
    return {};
  }

  void add_tree(const std::string& top, std::int64_t label) {
    const std::size_t num_losses = listing_.losses.size();
    top_size_ = top.size();
    const std::vector<DirectoryFiles> found = walk().files_below(top);
    if (listing_.losses.size() > num_losses) found_any_ = true;  // the lost directory may have had images
    for (const DirectoryFiles& files : found) {
      directory_added_ = false;
      have_folders_ = have_folders_ || (files.size() > 0 && files.path().size() > top.size());
      if (pair_.empty()) {
        for (std::size_t i = 0; i < files.size(); ++i) add_sample(files.path(), files[i], label);
      } else {
        add_pairs(files, label);
      }
    }
  }

  /// Whether a folder below the class folder is hidden; the class folder itself has its own warning.
  bool is_hidden_below_top(std::string_view directory) const {
    std::string_view rest = directory.substr(std::min(directory.size(), top_size_));
    while (!rest.empty()) {
      rest.remove_prefix(1);  // the slash
      const std::string_view name = rest.substr(0, rest.find('/'));
      if (is_hidden_folder(name)) return true;
      rest.remove_prefix(name.size());
    }
    return false;
  }

  DirectoryWalk& walk() {
    if (walk_) return *walk_;
    WalkRules rules{.wanted =
                        [this](std::string_view name) {
                          return pair_.empty() ? is_image_name(name) : pair_.part_of(name).index >= 0;
                        },
                    .skip_unreadable = options_.skip_damaged};
    if (!pair_.empty()) {
      rules.why_unwanted = "no extension that `pair` names";
      rules.why_unwanted_image = "an image with an extension that `pair` does not name";
    }
    if (!filter_.takes_all()) {
      rules.excluded = [this](const std::string& path, bool is_directory) {
        const std::string name = path.substr(std::min(path.size(), key_start()));
        if (!is_directory) return filter_.excludes(name);
        const bool excluded = filter_.excludes_directory(name) || filter_.excludes_all_in(name);
        found_any_ = found_any_ || excluded;
        return excluded;
      };
    }
    return walk_.emplace(root_, std::move(rules), listing_.notices, listing_.losses, list_jobs(options_));
  }

  bool may_be_empty() const { return options_.allow_empty || options_.may_lack_images; }

  /// Offset of the part of a path that filters and keys use.
  std::size_t key_start() const { return root_ == "/" ? 1 : root_.size() + 1; }

  /// Returns false if the filters exclude the file.
  bool add_sample(const std::string& directory, std::string_view name, std::int64_t label) {
    found_any_ = true;
    const std::size_t start = std::min(directory.size(), key_start());
    if (!filter_.takes_all() && !filter_.takes(below(std::string_view(directory).substr(start), name))) {
      listing_.notices.leave_out(below(directory, name), NameFilter::k_filtered);
      return false;
    }
    if (!directory_added_) {
      directory_ = listing_.rows.add_directory(directory, start);
      directory_is_hidden_ = is_hidden_below_top(directory);
      if (directory_is_hidden_ && hidden_.empty()) hidden_ = directory;
    }
    directory_added_ = true;
    num_hidden_ += directory_is_hidden_ ? 1 : 0;
    FileRow& row = listing_.rows.add_sample(directory_, name);
    row.label = label;
    row.field = listing_.image_field(split_file_name(name).extension);
    return true;
  }

  void add_pairs(const DirectoryFiles& files, std::int64_t label) {
    struct Part {
      std::string_view stem;
      int index;
      std::string_view name;
      bool operator<(const Part& other) const { return std::tie(stem, index) < std::tie(other.stem, other.index); }
    };
    std::vector<Part> parts;
    for (std::size_t i = 0; i < files.size(); ++i) {
      const PairRules::Part part = pair_.part_of(files[i]);
      parts.push_back({part.stem, part.index, files[i]});
    }
    std::sort(parts.begin(), parts.end());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i > 0 && !(parts[i - 1] < parts[i])) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("has the same stem and kind as {}", printable(parts[i - 1].name)),
                    {.path = below(files.path(), parts[i].name), .hint = "rename one or leave it out with `exclude`"});
      }
      const auto image = std::lower_bound(parts.begin(), parts.end(), Part{parts[i].stem, 0, {}});
      if (image->index != 0) {
        listing_.notices.add(below(files.path(), parts[i].name),
                             fmt::format("no {} file next to it", pair_.fields().front()));
      }
    }
    for (std::size_t i = 0; i < files.size(); ++i) {
      const PairRules::Part image = pair_.part_of(files[i]);
      if (image.index != 0 || !add_sample(files.path(), files[i], label)) continue;
      const std::string_view stem = image.stem;
      for (int index = 1; index < static_cast<int>(pair_.size()); ++index) {
        if (const PairPath* path = pair_.path(static_cast<std::size_t>(index))) {
          distant_.add(listing_.rows, listing_.rows.samples().back(), *path);
          continue;
        }
        const auto part = std::lower_bound(parts.begin(), parts.end(), Part{stem, index, {}});
        if (part != parts.end() && part->stem == stem && part->index == index) {
          listing_.rows.add_companion(directory_, part->name);
        } else {
          listing_.rows.add_missing_companion();
        }
      }
    }
  }

  std::string root_;
  const SourceOptions& options_;
  Labels labels_;
  NameFilter filter_;
  PairRules pair_;
  DistantFiles distant_{""};
  FileListing listing_;
  std::optional<DirectoryWalk> walk_;
  std::uint32_t directory_ = 0;  // of the files being added
  bool directory_added_ = false;
  bool directory_is_hidden_ = false;
  std::size_t top_size_ = 0;      // of the path of the tree being added
  std::uint64_t num_hidden_ = 0;  // images in hidden folders, the first of which is `hidden_`
  std::string hidden_;
  bool have_folders_ = false;  // a class folder has folders with images
  bool found_any_ = false;     // in the tree being added, including files that the filters exclude
};

}  // namespace

std::unique_ptr<Source> open_listed_folder(const std::string& path, std::optional<DirectoryListing> listing,
                                           const SourceOptions& options) {
  return std::make_unique<FileSource>(FolderLister(path, options).list(std::move(listing)));
}

std::unique_ptr<Source> open_folder_source(const std::string& path, const SourceOptions& options) {
  return open_listed_folder(path, std::nullopt, options);
}

}  // namespace bale
