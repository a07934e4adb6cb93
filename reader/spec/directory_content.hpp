// What lies in a directory of this machine that is not a dataset itself: packed datasets, folders of images. Every
// command that is given a directory decides by it what the directory is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/formats/base/error.hpp"

namespace bale {

/// Hidden entries do not count.
struct DirectoryContent {
  std::vector<std::string> datasets{};  // paths of the packed datasets directly in it, sorted
  std::vector<std::string>
      image_folders{};  // paths of other directories in it that have an image; only if there are datasets
  std::vector<std::string>
      unreadable{};              // paths of directories in it that cannot be looked into; only if there are datasets
  std::uint64_t num_images = 0;  // files directly in it that are named as images
  std::string first_image{};     // the name of one of them

  /// The packed datasets are not what is meant: there are as many folders of images, or more images.
  bool is_folder_of_images() const { return image_folders.size() >= datasets.size() || num_images > datasets.size(); }
};

/// A directory with a manifest, an unfinished pack or shards of its own has no datasets in it.
DirectoryContent directory_content(const std::string& path);
/// The same of a directory without a manifest that was listed: names of directories, also behind links, and of others.
DirectoryContent directory_content(const std::string& path, const std::vector<std::string>& directories,
                                   const std::vector<std::string>& files);

/// The content of `spec` if it is a directory of datasets, as `pack --split` makes it; else empty.
DirectoryContent datasets_below(const std::string& spec);

/// What a command that takes one dataset or a directory of them is given.
struct NamedDatasets {
  std::vector<std::string> specs{};  // the datasets in a directory of them, else the given one
  bool is_directory = false;         // of datasets
  std::string note{};                // what is next to them and is not looked at; empty: nothing
};
NamedDatasets named_datasets(const std::string& spec);

/// Whether a directory has a manifest.json that is not another program's. False if it cannot be looked into.
bool is_packed_dataset(const std::string& directory);

/// Whether a directory has a packed dataset, finished or not.
bool is_pack(const std::string& directory);

/// The error of a command that takes one dataset, for a directory with `content.datasets`, which it names.
Error no_dataset_error(const std::string& directory, const DirectoryContent& content, ErrorCode code);

}  // namespace bale
