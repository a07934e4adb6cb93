// Detects which kind of source a path is, and opens it.
#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/reader/spec/directory_content.hpp"
#include "bale/reader/spec/shard_directory.hpp"
#include "bale/reader/version.hpp"
#include "bale/writer/source/arrays/array_source.hpp"
#include "bale/writer/source/choose/source_table.hpp"
#include "bale/writer/source/files/long_path.hpp"
#include "bale/writer/source/files/text_files.hpp"
#include "bale/writer/source/folder/folder_walk.hpp"
#include "bale/writer/source/rows/file_rows.hpp"
#include "bale/writer/source/source.hpp"
#include "bale/writer/source/tables/listed_files.hpp"
#include "bale/writer/source/tables/table_rows.hpp"

namespace bale {
namespace {

bool long_path_exists(const std::string& path) {
  struct stat info {};
  return stat_long_path(path, info) == 0;
}

constexpr const char* k_folder = "folder";
constexpr const char* k_list = "list";
constexpr const char* k_table = "table";
constexpr const char* k_packed = "packed";

bool are_shards_by_content(const std::string& path) {
  try {
    return !list_shards(path).empty();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_found) return false;
    throw;
  }
}

/// The first name in a list of files, and whether NUL ends it; nullopt if the file does not begin as such a list does.
struct FirstName {
  std::string name;
  bool ends_with_nul = false;
};
std::optional<FirstName> first_name(const std::string& path) {
  constexpr std::size_t k_first_bytes = 8192;
  std::vector<std::byte> head(k_first_bytes);
  head.resize(File::open_read(path).read_some(0, head));
  std::string_view text = as_text(head);
  refuse_utf16(text, path);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
  const std::size_t end = text.find_first_of(std::string_view("\0\r\n", 3));
  FirstName first{.name = std::string(text.substr(0, end)), .ends_with_nul = end < text.size() && text[end] == '\0'};
  const bool is_text =
      std::none_of(first.name.begin(), first.name.end(), [](char c) { return c >= 0 && c < ' ' && c != '\t'; });
  if (first.name.empty() || !is_text) return std::nullopt;
  return first;
}

/// How the list of files is reported, if it is one: no format knows the file, and it is called a text or begins with
/// the path of a file, perhaps with a label after it. Else empty.
std::string note_on_list(const std::string& path, const SourceOptions& options) {
  try {
    probe_format(path);
    return {};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) return {};  // opening it says what is wrong
  }
  const std::optional<FirstName> first = first_name(path);
  if (!first) return {};
  const auto exists = [&](std::string_view name) {
    const bool is_relative = !name.starts_with('/') && !options.root.empty();
    return long_path_exists(is_relative ? join_path(options.root, std::string(name)) : std::string(name));
  };
  const std::optional<PathAndLabel> parts = path_and_label(first->name);
  if (parts && !exists(first->name) && exists(parts->path))
    return "taken as a list of files and labels by its first line";
  return lower_case(path).ends_with(".txt") || exists(first->name) ? "taken as a list of files by its first line" : "";
}

/// Parquet and Arrow files without an image next to them: the error of opening one says who reads them.
void refuse_tables(const std::string& path, const TopLevel& top) {
  const auto table = std::find_if(top.files.begin(), top.files.end(), [](const std::string& name) {
    return name.ends_with(".parquet") || name.ends_with(".arrow");
  });
  if (table != top.files.end()) probe_format(join_path(path, *table));
}

/// What a source was detected as, with what its directory holds: that is listed once.
struct Detected : DetectedSource {
  std::optional<DirectoryListing> listing{};
  std::vector<std::string> idx_files{};  // names of all files, if there are MNIST's
};

/// Whether these are idx files. Options that only other sources have say that they are not meant so.
bool has_arrays(const std::vector<std::string>& files, const SourceOptions& options) {
  const bool is_other = !options.kind.empty() || options.flat || !options.pair.empty();
  return !is_other && has_idx_files(files);
}

/// MNIST's idx files, a CIFAR archive or SVHN's MAT-file; null if it is another source.
std::unique_ptr<Source> open_arrays(const std::string& spec, const Detected& detected, const SourceOptions& options) {
  struct stat info {};
  if (remote_storage_of(spec) != nullptr || stat_long_path(spec, info) != 0) return nullptr;
  if (S_ISDIR(info.st_mode)) {
    if (detected.idx_files.empty()) return nullptr;
    return make_array_source(spec, read_idx_files(spec, detected.idx_files), options);
  }
  if (spec.ends_with(".mat")) return make_array_source(spec, read_svhn(spec), options);
  if (!is_cifar_archive(spec)) return nullptr;
  return make_array_source(spec, read_cifar(spec), options);
}

/// Throws for options of files that packed samples or arrays have no use for: without them the labels would be others.
void refuse_file_options(const std::string& spec, std::string_view what, const SourceOptions& options) {
  if (options.are_shared) return;
  for (const std::string& name : given_source_options(options, true)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("`{}` is for folders, lists and tables of files, this is {}", name, what),
                {.path = spec, .hint = fmt::format("leave `{}` out", name)});
  }
}

/// The kind of a directory without a manifest: images to pack, or shards of some tool.
DetectedSource detect_directory(const std::string& path, const TopLevel& top, const SourceOptions& options) {
  if (long_path_exists(join_path(path, k_partial_name))) return {k_packed};
  if (shards_in_own_list(path)) return {k_packed};
  if (!top.directories.empty() || top.files.empty()) return {k_folder};
  const auto num_shards = std::count_if(top.files.begin(), top.files.end(), is_called_as_shard);
  const auto num_images = std::count_if(top.files.begin(), top.files.end(), is_image_name);
  // Only folders have these options.
  if (!options.pair.empty() || (options.flat && num_images > 0)) return {k_folder};
  if (num_shards == 0 && num_images > 0) return {k_folder};
  if (num_shards == 0) {
    refuse_tables(path, top);
    refuse_unpacked_cifar(path, top.files);
    if (!are_shards_by_content(path)) return {k_folder};
    return {k_packed, "taken as packed shards by what its files begin with; `source` folder takes it as a folder"};
  }
  const char* const kind = num_shards > num_images ? k_packed : k_folder;
  if (num_images == 0) {
    return {kind, fmt::format("taken as packed shards: {} of its {} files are named so", num_shards, top.files.size())};
  }
  return {kind,
          fmt::format("taken as {}: {} of its files are named as images, {} as shards; `source` {} takes it as {}",
                      kind == k_folder ? "a folder of images" : "packed shards", num_images, num_shards,
                      kind == k_folder ? k_packed : k_folder, kind == k_folder ? "shards" : "a folder")};
}

/// Of a directory that has no manifest.
Detected detect_listed(const std::string& spec, DirectoryListing listing, const SourceOptions& options) {
  TopLevel top = top_level_of(listing);
  if (has_arrays(top.files, options)) {
    return {{k_folder}, {}, std::move(top.files)};
  }
  Detected detected{detect_directory(spec, top, options), std::move(listing)};
  if (detected.kind != k_folder || top.directories.empty()) return detected;
  const DirectoryContent content = directory_content(spec, top.directories, top.files);
  if (!content.datasets.empty() && !content.is_folder_of_images()) {
    throw Error(no_dataset_error(spec, content, ErrorCode::invalid_argument));
  }
  return detected;
}

/// detect_source()
Detected detect(const std::string& spec, const SourceOptions& options) {
  if (remote_storage_of(spec) != nullptr) return {{k_packed}};
  struct stat info {};
  if (stat_long_path(spec, info) != 0) {
    const int why = errno;
    if (names_version(spec)) return {{k_packed}};
    errno = why;
    require_local_name(spec);
    const bool shards = spec.find("::") != std::string::npos || spec.find_first_of("*?[{") != std::string::npos;
    if (shards) return {{k_packed}};
    if (errno == ENOENT || errno == ENOTDIR) {
      throw Error(ErrorCode::not_found, "no such folder or file", {.path = spec, .hint = "check the path"});
    }
    throw_errno("examine", spec);
  }
  if (!options.annotations.empty()) {
    if (S_ISDIR(info.st_mode)) return {{k_folder}};
    if (!TableColumns::kind_of(spec) && !note_on_list(spec, options).empty()) return {{k_list}};
    throw Error(ErrorCode::invalid_argument,
                "`annotations` are of a folder of images or of a list, this is another file", {.path = spec});
  }
  if (!S_ISDIR(info.st_mode)) {
    if (TableColumns::kind_of(spec)) return {{k_table}};
    if (is_class_lists(spec)) return {{k_list, "taken as lists of files by class"}};
    std::string note = note_on_list(spec, options);
    if (note.empty()) return {{k_packed}};
    return {{k_list, std::move(note)}};
  }
  if (long_path_exists(join_path(spec, k_manifest_name))) return {{k_packed}};
  return detect_listed(spec, listing_of(spec), options);
}

}  // namespace

std::vector<std::string> source_kinds() {
  std::vector<std::string> kinds{k_folder, k_list, k_table, k_packed};
  for (const Format* format : formats()) kinds.emplace_back(format->name);
  return kinds;
}

DetectedSource detect_source(const std::string& spec, const SourceOptions& options) { return detect(spec, options); }

std::unique_ptr<Source> open_source(const std::string& spec, const SourceOptions& options,
                                    const std::function<void(const std::string& note)>& on_note) {
  require_local_name(spec, UrlUse::dataset);
  Detected detected{{options.kind}};
  if (options.kind.empty()) {
    detected = detect(spec, options);
    if (on_note && !detected.note.empty()) on_note(detected.note);
    if (std::unique_ptr<Source> arrays = open_arrays(spec, detected, options)) {
      refuse_file_options(spec, "a dataset of arrays", options);
      return arrays;
    }
  }
  const std::string& kind = detected.kind;
  if (kind == k_folder || kind == k_list || kind == k_table) {
    require_local_name(spec);
    if (options.class_folders) {
      throw Error(ErrorCode::invalid_argument, fmt::format("`class_folders` is for packed sources, this is a {}", kind),
                  {.path = spec, .hint = "leave `class_folders` out"});
    }
  }
  if (!options.annotations.empty()) {
    if (kind == k_folder || kind == k_list) return open_annotated_source(spec, options);
    throw Error(ErrorCode::invalid_argument,
                fmt::format("`annotations` are of a folder of images or a list, not of a {} source", printable(kind)),
                {.path = spec, .hint = "leave `annotations` or `source` out"});
  }
  if (!options.annotations_format.empty()) {
    throw Error(ErrorCode::invalid_argument, "`annotations_format` without `annotations`", {.path = spec});
  }
  if (kind == k_folder) return open_listed_folder(spec, std::move(detected.listing), options);
  if (kind == k_list) {
    SourceOptions own = options;
    const std::optional<FirstName> first = first_name(spec);
    own.nul_separated = own.nul_separated || (first && first->ends_with_nul);
    return open_list_source(spec, own);
  }
  if (kind == k_table) return open_table_source(spec, options);
  const std::vector<std::string> kinds = source_kinds();
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
    throw Error(ErrorCode::invalid_argument, fmt::format("\"{}\" is not a kind of source", printable(kind)),
                {.hint = fmt::format("choose one of: {}", joined(kinds))});
  }
  refuse_file_options(spec, "a packed source", options);
  return open_packed_source(spec, options);
}

std::vector<SourceOptions> options_of_each(const std::vector<std::string>& specs, const SourceOptions& options) {
  std::vector<SourceOptions> of_each(specs.size(), options);
  if (specs.size() < 2 || (options.annotations.empty() && !options.class_folders)) return of_each;
  SourceOptions plain = options;
  plain.annotations.clear();
  plain.class_folders = false;
  std::vector<std::string> kinds;
  for (const std::string& spec : specs)
    kinds.push_back(options.kind.empty() ? detect_source(spec, plain).kind : options.kind);
  const auto is_folder = [](const std::string& kind) { return kind == k_folder; };
  const auto is_packed = [](const std::string& kind) { return kind != k_folder && kind != k_list && kind != k_table; };
  const bool has_folder = std::any_of(kinds.begin(), kinds.end(), is_folder);
  const bool has_packed = std::any_of(kinds.begin(), kinds.end(), is_packed);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (has_folder && !is_folder(kinds[i])) {
      of_each[i].annotations.clear();
      of_each[i].annotations_format.clear();
    }
    if (has_packed && !is_packed(kinds[i])) of_each[i].class_folders = false;
  }
  return of_each;
}

}  // namespace bale
