// --include and --exclude: patterns on paths or keys, in the forms of rsync and gitignore. One matcher for all
// commands.
//
// A pattern is a printed key or a glob of the shell (KeyPattern), in which `*` crosses slashes. A directory that
// matches stands for all in it. Written as of SourceRoot::below(): "./a", "/a", and "a" below the root's own path are
// "a". "a/" is a directory. "**/" is any number of directories, also none. A word without a slash and without a glob is
// also a name in any directory.
//
// Patterns remember whether they matched. For one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/notice_log.hpp"
#include "bale/formats/base/text/key_text.hpp"
#include "bale/writer/source/rows/source_root.hpp"

namespace bale {

class NamePattern {
 public:
  /// `root` is null if names are keys.
  NamePattern(const std::string& text, const SourceRoot* root);

  const std::string& text() const { return text_; }
  bool has_matched() const { return has_matched_; }
  void set_matched() { has_matched_ = true; }

  /// Whether the pattern is this key as it is printed: then it stands for this sample alone.
  void see_key(const std::string& key);
  /// Whether the name, or a directory that it is in, matches.
  bool takes(const std::string& name);
  /// Whether the directory itself matches.
  bool takes_directory(const std::string& name);
  /// Whether the pattern, such as "NAME/*", names what is in the directory, all of it or a part.
  bool takes_all_in(const std::string& directory) const;
  bool leads_into(const std::string& directory) const;

 private:
  struct Form {
    std::string text;
    KeyPattern pattern;
  };
  void add_forms(const std::string& text);
  bool fits(const std::string& name) const;
  bool noted(bool matches) {
    has_matched_ = has_matched_ || matches;
    return matches;
  }

  std::string text_;
  KeyPattern as_given_;
  std::vector<Form> forms_;
  bool is_directory_ = false;
  bool is_key_ = false;
  bool has_matched_ = false;
};

class NameFilter {
 public:
  /// Of keys.
  NameFilter(const std::vector<std::string>& include, const std::vector<std::string>& exclude);
  /// Of paths below `root`; "" is the current directory.
  NameFilter(const std::vector<std::string>& include, const std::vector<std::string>& exclude, const std::string& root);

  /// Call it for every key before takes(), if names are keys.
  void see_key(const std::string& key);
  /// Whether the name matches an include pattern (or there is none) and no exclude pattern.
  bool takes(const std::string& name);
  /// Whether an exclude pattern matches the file, or a directory that it is in.
  bool excludes(const std::string& name);
  /// Whether an exclude pattern matches the directory itself, so that it is not read.
  bool excludes_directory(const std::string& name);
  /// Whether an exclude pattern such as "NAME/*" excludes everything in the directory.
  bool excludes_all_in(const std::string& directory);
  bool takes_all() const { return include_.empty() && exclude_.empty(); }

  /// Why takes() is false, and excludes_directory() true: reasons for NoticeLog::leave_out().
  static constexpr std::string_view k_filtered = "as `include` and `exclude` say";
  static constexpr std::string_view k_excluded_directory = "a directory that `exclude` matches";
  /// Adds the patterns that matched nothing. Call it when all names were seen.
  void note_unmatched(NoticeLog& notices, std::string_view place) const;
  /// What to do if nothing is left.
  std::string advice() const;

 private:
  NameFilter(const std::vector<std::string>& include, const std::vector<std::string>& exclude, const SourceRoot* root);

  std::vector<NamePattern> include_;
  std::vector<NamePattern> exclude_;
};

}  // namespace bale
