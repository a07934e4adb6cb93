#include "bale/writer/source/listed_files.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/local_name.hpp"
#include "bale/formats/shard/key.hpp"
#include "bale/writer/source/long_path.hpp"

namespace bale {
namespace {

/// The path without ".", repeated and trailing slashes. Throws for ".." and for a path that names no file.
std::string normalized(std::string_view path) {
  const auto refuse = [&](std::string_view why) {
    throw Error(ErrorCode::invalid_argument, fmt::format("the path \"{}\" {}", printable(path), why),
                {.hint = "name files below `root`"});
  };
  std::string clean(path.starts_with('/') ? "/" : "");
  std::string_view rest = path;
  while (!rest.empty()) {
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view component = rest.substr(0, slash);
    rest.remove_prefix(std::min(slash + 1, rest.size()));
    if (component.empty() || component == ".") continue;
    if (component == "..") refuse("goes up with \"..\"");
    if (component.find('\0') != std::string_view::npos) refuse("has a NUL byte");
    if (!clean.empty() && clean.back() != '/') clean += '/';
    clean += component;
  }
  if (clean.empty() || clean == "/") refuse("names no file");
  return clean;
}

}  // namespace

ListedFiles::ListedFiles(const SourceOptions& options, std::string root)
    : root_(std::move(root)), filter_(options.include, options.exclude), pair_(options), distant_("") {
  while (root_.size() > 1 && root_.ends_with('/')) root_.pop_back();
  require_local_name(root_);
  distant_ = DistantFiles(root_);
  listing_.name_companions(pair_);
  listing_.jobs = list_jobs(options);
}

FileRow* ListedFiles::add(std::string_view path) {
  require_local_name(path);
  std::string clean = normalized(path);
  bool absolute = clean.starts_with('/');
  // An absolute path below the root gets the same key as its relative path.
  const std::string prefix = root_ == "/" ? root_ : root_ + "/";
  if (absolute && !root_.empty() && clean.starts_with(prefix)) {
    clean.erase(0, prefix.size());
    absolute = false;
  }
  const std::string_view below_root = std::string_view(clean).substr(absolute ? 1 : 0);
  const std::size_t slash = clean.rfind('/');
  const std::string_view name = std::string_view(clean).substr(slash == std::string::npos ? 0 : slash + 1);
  const std::string field = field_name(split_file_name(name).extension);
  const PairRules::Part part = pair_.part_of(name);
  if (pair_.empty() ? !is_image_field(field) : part.index != 0) {
    if (part.index < 0) listing_.notices.add(clean, pair_.empty() ? "not an image by its name" : "not in `pair`");
    return nullptr;
  }
  if (!filter_.takes_all() && !filter_.takes(std::string(below_root))) return nullptr;
  const std::string_view directory = std::string_view(clean).substr(0, slash == std::string::npos ? 0 : slash);
  FileRow& row = listing_.rows.add_sample(directory_id(directory, absolute), name);
  row.field = listing_.image_field(field);
  if (!pair_.empty()) add_companions(row, part.stem);
  return &row;
}

std::uint32_t ListedFiles::directory_id(std::string_view text, bool absolute) {
  const std::string path = absolute ? (text.empty() ? "/" : std::string(text)) : below(root_, text);
  const auto found = directories_.find(path);
  if (found != directories_.end()) return found->second;
  const std::size_t key_start = absolute ? 1 : path.size() - text.size();
  const std::uint32_t id = listing_.rows.add_directory(path, key_start);
  directories_.emplace(path, id);
  return id;
}

void ListedFiles::add_companions(const FileRow& row, std::string_view stem) {
  const std::string directory(listing_.rows.directory(row.directory));
  for (std::size_t which = 1; which < pair_.size(); ++which) {
    if (const PairPath* path = pair_.path(which)) {
      distant_.add(listing_.rows, row, *path);
      continue;
    }
    const std::string name = fmt::format("{}.{}", stem, pair_.extension(which));
    struct stat info {};
    if (stat_long_path(below(directory, name), info) == 0) {
      listing_.rows.add_companion(row.directory, name);
    } else {
      listing_.rows.add_missing_companion();
    }
  }
}

std::string_view ListedFiles::parent_name(const FileRow& row) const {
  const std::string_view path = listing_.rows.key_directory(row.directory);
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace bale
