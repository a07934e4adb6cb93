// Walking a directory tree in the order of Python's `sorted(os.walk(top, followlinks=True))`.
//
// Threads: functions without shared state.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/core/notice_log.hpp"

namespace bale {

/// The wanted files of one directory, in Python's order.
class DirectoryFiles {
 public:
  explicit DirectoryFiles(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::size_t size() const { return starts_.size(); }
  /// Borrows from this object.
  std::string_view operator[](std::size_t i) const { return names_.c_str() + starts_[i]; }

  void add(const char* name);
  void sort();

 private:
  std::string path_;
  std::string names_;  // each with its NUL
  std::vector<std::size_t> starts_;
};

/// Names below `top` as os.scandir gives them, sorted; `directories` counts links to directories too.
struct TopLevel {
  std::vector<std::string> directories;
  std::vector<std::string> files;  // everything else
};
/// Throws `not_found` where there is no such directory, `io` where it cannot be read.
TopLevel list_top_level(const std::string& path);

/// Every directory at and below `top` that has files for which `wanted(name)` holds. Links are followed;
/// what is passed over (other files, devices, broken links, link loops) goes to `notices`. `root` is `top`
/// or a directory above it that links must not lead back to. Throws `io` where a directory cannot be read.
std::vector<DirectoryFiles> walk_files(const std::string& top, const std::function<bool(std::string_view)>& wanted,
                                       NoticeLog& notices, const std::string& root);

}  // namespace bale
