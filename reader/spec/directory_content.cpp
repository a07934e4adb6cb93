#include "bale/reader/spec/directory_content.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "bale/formats/base/file.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/formats/shard/shard_index.hpp"
#include "bale/reader/spec/shard_directory.hpp"

namespace bale {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_max_looked_at = 20'000;  // entries of one directory, in search of an image

enum class Known { no, yes, unreadable };

/// Does not fail.
Known has_file(const std::string& path) try {
  return path_exists(path) ? Known::yes : Known::no;
} catch (const Error&) {
  return Known::unreadable;
}

/// Does not fail: what cannot be read has no images.
bool has_image(const std::string& directory) {
  std::error_code error;
  std::size_t num_looked_at = 0;
  fs::recursive_directory_iterator entry(directory, fs::directory_options::skip_permission_denied, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (++num_looked_at > k_max_looked_at) return false;
    if (entry->is_directory(error)) {
      if (is_packed_dataset(entry->path().string())) entry.disable_recursion_pending();
    } else if (is_image_name(entry->path().native())) {
      return true;
    }
  }
  return false;
}

std::string names_of(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) names.push_back(printable(base_name(path)));
  return joined(names);
}

}  // namespace

bool is_packed_dataset(const std::string& directory) {
  const std::string manifest = join_path(directory, k_manifest_name);
  if (has_file(manifest) != Known::yes) return false;
  constexpr std::size_t k_head_bytes = 4096;
  try {
    std::vector<std::byte> head(k_head_bytes);
    head.resize(File::open_read(manifest).read_some(0, head));
    if (as_text(head).find("bale_manifest") != std::string_view::npos) return true;
  } catch (const Error&) {
    return true;  // opening the dataset says what is wrong
  }
  // A manifest whose beginning is damaged has indexes next to it.
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().string().ends_with(index_path({}))) return true;
  }
  return false;
}

bool is_pack(const std::string& directory) {
  return is_packed_dataset(directory) || has_file(join_path(directory, k_partial_name)) == Known::yes;
}

DirectoryContent directory_content(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) ||
      has_file(join_path(path, k_manifest_name)) == Known::yes)
    return {};
  std::vector<std::string> directories;
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unknown;
    (entry->is_directory(unknown) ? directories : files).push_back(entry->path().filename().string());
  }
  if (error) return {};  // opening it says what is wrong
  return directory_content(path, directories, files);
}

DirectoryContent directory_content(const std::string& path, const std::vector<std::string>& directories,
                                   const std::vector<std::string>& files) {
  const auto is_ours = [](const std::string& name) { return name == k_partial_name || is_called_as_shard(name); };
  if (std::any_of(directories.begin(), directories.end(), is_ours) || std::any_of(files.begin(), files.end(), is_ours))
    return {};
  DirectoryContent content;
  for (const std::string& name : files) {
    if (name.starts_with('.') || !is_image_name(name)) continue;
    ++content.num_images;
    if (content.first_image.empty() || name < content.first_image) content.first_image = name;
  }
  std::vector<std::string> others;
  for (const std::string& name : directories) {
    if (name.starts_with('.')) continue;
    const std::string place = join_path(path, name);
    const bool is_unreadable = has_file(join_path(place, k_manifest_name)) == Known::unreadable;
    (is_unreadable ? content.unreadable : is_packed_dataset(place) ? content.datasets : others).push_back(place);
  }
  if (content.datasets.empty()) return content;
  std::copy_if(others.begin(), others.end(), std::back_inserter(content.image_folders), has_image);
  std::sort(content.datasets.begin(), content.datasets.end());
  std::sort(content.image_folders.begin(), content.image_folders.end());
  std::sort(content.unreadable.begin(), content.unreadable.end());
  return content;
}

DirectoryContent datasets_below(const std::string& spec) {
  DirectoryContent content = directory_content(spec);
  return content.is_folder_of_images() ? DirectoryContent() : content;
}

NamedDatasets named_datasets(const std::string& spec) {
  DirectoryContent content = directory_content(spec);
  if (content.datasets.empty() || content.is_folder_of_images()) return {.specs = {spec}};
  std::string beside = names_of(content.image_folders);
  if (!content.unreadable.empty()) {
    beside += fmt::format("{}{} (cannot be read)", beside.empty() ? "" : ", ", names_of(content.unreadable));
  }
  if (content.num_images > 0) beside += (beside.empty() ? "" : ", ") + printable(content.first_image);
  if (content.num_images > 1) beside += fmt::format(" and {} more", content.num_images - 1);
  if (!beside.empty()) {
    beside = fmt::format("{}: taken as a directory of packed datasets; not looked at next to them: {}",
                         shown_name(spec), beside);
  }
  return {.specs = std::move(content.datasets), .is_directory = true, .note = std::move(beside)};
}

Error no_dataset_error(const std::string& directory, const DirectoryContent& content, ErrorCode code) {
  const bool is_one = content.datasets.size() == 1;
  const char* const what = content.is_folder_of_images() ? "a folder of images, and no packed dataset"
                           : is_one                      ? "holds a packed dataset and is none itself"
                                                         : "holds several datasets and is none itself";
  return {code,
          what,
          {.path = directory,
           .hint = fmt::format("name {}: {}{}", is_one ? "the one in it" : "one of them", joined(content.datasets),
                               content.is_folder_of_images() ? ", or pack the folder first" : "")}};
}

}  // namespace bale
