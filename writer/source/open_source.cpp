// Which kind of source a path is.
#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "bale/formats/core/error.hpp"
#include "bale/formats/core/file.hpp"
#include "bale/formats/core/key.hpp"
#include "bale/formats/core/manifest.hpp"
#include "bale/reader/shard_directory.hpp"
#include "bale/writer/source/file_rows.hpp"
#include "bale/writer/source/folder_walk.hpp"
#include "bale/writer/source/long_path.hpp"
#include "bale/writer/source/source.hpp"
#include "bale/writer/source/table_rows.hpp"

namespace bale {
namespace {

bool exists(const std::string& path) {
  struct stat info {};
  return stat_long_path(path, info) == 0;
}

/// Whether a directory without a manifest holds shards of some tool rather than images.
bool holds_shards(const std::string& path, const TopLevel& top) {
  if (exists(join_path(path, k_partial_name))) return true;
  if (!top.directories.empty()) return false;
  if (std::any_of(top.files.begin(), top.files.end(), is_called_as_shard)) return true;
  const bool has_images = std::any_of(top.files.begin(), top.files.end(), [](const std::string& name) {
    return is_image_field(field_name(split_file_name(name).extension));
  });
  if (has_images || top.files.empty()) return false;
  try {
    return !list_shards(path).empty();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_found) return false;
    throw;
  }
}

/// A pack that was split has a dataset in each of its directories and none of its own.
void refuse_several_datasets(const std::string& path, const TopLevel& top) {
  std::string names;
  for (const std::string& name : top.directories) {
    if (exists(join_path(join_path(path, name), k_manifest_name))) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", printable(name));
    }
  }
  if (names.empty()) return;
  throw Error(ErrorCode::invalid_argument, "holds several packed datasets",
              {.path = path, .hint = fmt::format("name one of them: {}", names)});
}

}  // namespace

std::unique_ptr<Source> open_source(const std::string& spec, const SourceOptions& options) {
  struct stat info {};
  if (stat_long_path(spec, info) != 0) {
    const bool shards = spec.find("::") != std::string::npos || spec.find_first_of("*?[{") != std::string::npos;
    if (shards) return open_packed_source(spec, options);
    if (errno == ENOENT || errno == ENOTDIR) {
      throw Error(ErrorCode::not_found, "no such folder or file", {.path = spec, .hint = "check the path"});
    }
    throw_errno("examine", spec);
  }
  if (!S_ISDIR(info.st_mode)) {
    return TableColumns::kind_of(spec) ? open_table_source(spec, options) : open_packed_source(spec, options);
  }
  if (exists(join_path(spec, k_manifest_name))) return open_packed_source(spec, options);
  const TopLevel top = list_top_level(spec);
  if (holds_shards(spec, top)) return open_packed_source(spec, options);
  refuse_several_datasets(spec, top);
  return open_folder_source(spec, options);
}

}  // namespace bale
