#include "bale/writer/source/folder/folder_walk.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/reader/spec/directory_content.hpp"
#include "bale/writer/source/files/directory_listing.hpp"
#include "bale/writer/source/files/long_path.hpp"
#include "bale/writer/source/folder/name_filter.hpp"
#include "bale/writer/source/rows/file_rows.hpp"

namespace bale {
namespace {

using Kind = EntryKind;

[[noreturn]] void refuse_directory(const std::string& path) {
  const int value = errno;
  throw Error(ErrorCode::io, "cannot read the directory",
              {.path = path,
               .hint = "leave it out with `exclude`, or continue without it with `on_error` skip",
               .system_error = value});
}

/// Looks at files only if one has the name of a manifest.
bool holds_packed_dataset(const std::string& path, const DirectoryListing& listing) {
  for (std::size_t i = 0; i < listing.size(); ++i) {
    const std::string_view name = listing.name(i);
    if ((name == k_manifest_name || name == k_partial_name) && is_pack(path)) return true;
  }
  return false;
}

}  // namespace

DirectoryWalk::DirectoryWalk(const std::string& root, WalkRules rules, NoticeLog& notices,
                             std::vector<SourceLoss>& losses, unsigned jobs)
    : root_(root), rules_(std::move(rules)), notices_(notices), losses_(losses), ahead_(jobs) {
  struct stat info {};
  if (stat_long_path(root, info) != 0) throw_errno("examine", root);
  nodes_.push_back({.device = info.st_dev, .inode = info.st_ino});
}

std::vector<DirectoryFiles> DirectoryWalk::files_below(const std::string& top) {
  nodes_.resize(1);
  if (top == root_) {
    waiting_.push_back({top, 0});
  } else {
    nodes_.push_back({.parent = 0, .below_link = true});
    waiting_.push_back({top, 1});
  }
  while (!waiting_.empty()) {
    const PendingDirectory next = std::move(waiting_.back());
    waiting_.pop_back();
    try {
      read_directory(next.path, next.node);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::io || is_lack_of_resources(error)) throw;
      lose(next.path, error);
    }
  }
  std::sort(found_.begin(), found_.end(),
            [](const DirectoryFiles& a, const DirectoryFiles& b) { return python_less(a.path(), b.path()); });
  return std::exchange(found_, {});
}

void DirectoryWalk::lose(const std::string& path, const Error& error) {
  if (!rules_.skip_unreadable) throw Error(error);
  losses_.push_back({.path = path, .why = why_skipped(error)});
}

bool DirectoryWalk::is_own_ancestor(const Node& node) const {
  if (!node.below_link) return false;
  for (std::size_t up = node.parent; up != Node::k_no_parent; up = nodes_[up].parent) {
    if (nodes_[up].device == node.device && nodes_[up].inode == node.inode) return true;
  }
  return false;
}

/// A directory may be visited again through a link, but not below another one that is visited again: directories that
/// link to each other have too many paths to visit all.
bool DirectoryWalk::is_repeated_too_often(Node& node) {
  const bool seen = !seen_.insert({node.device, node.inode}).second;
  node.repeated = node.parent != Node::k_no_parent && nodes_[node.parent].repeated;
  if (!seen || !node.is_link) return false;
  if (node.repeated) return true;
  node.repeated = true;
  return false;
}

void DirectoryWalk::read_directory(const std::string& path, std::size_t number) {
  const DirectoryListing listing = ahead_.take(path);
  if (listing.open_error() != 0) {
    errno = listing.open_error();
    if (errno != ENOENT) refuse_directory(path);
    return lose(path, Error(ErrorCode::changed, "gone since the folder above it was listed",
                            {.path = path,
                             .hint = "pack again when nothing moves folders there, or continue without it with "
                                     "`on_error` skip"}));
  }
  Node& node = nodes_[number];
  node.device = listing.device();
  node.inode = listing.inode();
  if (is_own_ancestor(node)) return notices_.add(path, "link loop");
  if (is_repeated_too_often(node)) return notices_.add(path, "link to a directory that such links lead to already");
  if (number != 0 && holds_packed_dataset(path, listing)) return notices_.add(path, k_is_packed_dataset);
  DirectoryFiles files(path);
  std::vector<std::pair<std::string, bool>> directories;
  for (std::size_t i = 0; i < listing.size(); ++i) {
    if (listing.kind(i) == Kind::directory) {
      directories.emplace_back(listing.name(i), listing.is_link(i));
    } else {
      take_file(listing.name(i), listing.kind(i), files);
    }
  }
  add_directories(directories, number, path);
  if (files.size() != 0) {
    files.sort();
    found_.push_back(std::move(files));
  }
  if (listing.failure()) throw Error(*listing.failure());  // entries before it are kept
}

/// Sorted, whatever the file system's order: the order decides which of several links is visited first.
void DirectoryWalk::add_directories(std::vector<std::pair<std::string, bool>>& names, std::size_t parent,
                                    const std::string& path) {
  std::sort(names.begin(), names.end(), std::greater<>());
  for (const auto& [name, is_link] : names) {
    std::string child = below(path, name);
    if (child.size() > FileRows::k_max_path_bytes) {
      notices_.add(child, "the path is too long");
    } else if (rules_.excluded && rules_.excluded(child, true)) {
      notices_.leave_out(child, NameFilter::k_excluded_directory);
    } else {
      nodes_.push_back({.parent = parent, .below_link = nodes_[parent].below_link || is_link, .is_link = is_link});
      ahead_.announce(child);
      waiting_.push_back({std::move(child), nodes_.size() - 1});
    }
  }
}

std::string_view why_ignored(std::string_view name, std::string_view otherwise) {
  const bool is_table = name == "metadata.jsonl" || name == "metadata.csv";
  return is_table ? "a table of images; to have its columns, pack it in place of the folder" : otherwise;
}

void DirectoryWalk::take_file(const char* name, Kind kind, DirectoryFiles& files) {
  // Reading what is gone, or a broken link, reports it, as any sample that cannot be read.
  if ((kind == Kind::file || kind == Kind::broken_link || kind == Kind::gone) && rules_.wanted(name)) {
    return files.add(name);
  }
  const std::string path = below(files.path(), name);
  if (rules_.excluded && rules_.excluded(path, false)) return notices_.leave_out(path, NameFilter::k_filtered);
  const bool is_image = !rules_.why_unwanted_image.empty() && is_image_name(name);
  if (kind == Kind::file) {
    return notices_.add(path, is_image ? rules_.why_unwanted_image : why_ignored(name, rules_.why_unwanted));
  }
  if (kind == Kind::gone) return notices_.add(path, "gone since it was listed");
  if (kind != Kind::broken_link) return notices_.add(path, "not a regular file");
  if (!may_be_directory(name)) return notices_.add(path, fmt::format("broken link, {}", rules_.why_unwanted));
  lose(path, broken_directory_link(path));
}

void DirectoryFiles::add(const char* name) {
  starts_.push_back(names_.size());
  names_ += name;
  names_ += '\0';
}

void DirectoryFiles::sort() {
  std::sort(starts_.begin(), starts_.end(),
            [&](std::size_t a, std::size_t b) { return python_less(names_.c_str() + a, names_.c_str() + b); });
}

bool may_be_directory(std::string_view broken_link) { return split_file_name(broken_link).extension.empty(); }

Error broken_directory_link(const std::string& path) {
  return Error(
      ErrorCode::not_found, "a broken link, which may be one to a folder of images",
      {.path = path,
       .hint = "fetch what it leads to, leave it out with `exclude`, or continue without it with `on_error` skip"});
}

DirectoryListing listing_of(const std::string& path) {
  DirectoryListing listing = DirectoryListing::read(path);
  if (listing.open_error() != 0) {
    errno = listing.open_error();
    if (errno == ENOENT) throw Error(ErrorCode::not_found, "no such folder", {.path = path, .hint = "check the path"});
    if (errno == ENOTDIR) throw Error(ErrorCode::invalid_argument, "not a folder", {.path = path});
    throw_errno("read the directory", path);
  }
  if (listing.failure()) throw Error(*listing.failure());
  return listing;
}

TopLevel top_level_of(const DirectoryListing& listing) {
  TopLevel top;
  for (std::size_t i = 0; i < listing.size(); ++i) {
    const bool is_directory = listing.kind(i) == Kind::directory;
    (is_directory ? top.directories : top.files).emplace_back(listing.name(i));
    if (listing.kind(i) == Kind::broken_link && may_be_directory(listing.name(i))) {
      top.broken_links.emplace_back(listing.name(i));
    }
  }
  std::sort(top.directories.begin(), top.directories.end(), python_less);
  std::sort(top.files.begin(), top.files.end(), python_less);
  std::sort(top.broken_links.begin(), top.broken_links.end(), python_less);
  return top;
}

}  // namespace bale
