#include "bale/writer/source/folder/name_filter.hpp"

#include <fnmatch.h>

#include <algorithm>

namespace bale {
namespace {

constexpr std::size_t k_max_forms = 64;  // of a pattern with many "**/"
constexpr const char* k_globs = "*?[";

/// Tries every pattern that has matched nothing yet, so that each learns of its matches.
template <typename Matches>
bool any_takes(std::vector<NamePattern>& patterns, const Matches& matches) {
  bool any = false;
  for (NamePattern& pattern : patterns) {
    if (!any || !pattern.has_matched()) any = matches(pattern) || any;
  }
  return any;
}

}  // namespace

NamePattern::NamePattern(const std::string& text, const SourceRoot* root) : text_(text), as_given_(text) {
  std::string_view written = text;
  if (written.ends_with('\r')) written.remove_suffix(1);  // of a file with Windows' line ends
  std::string below = root != nullptr ? root->below(written) : std::string(written);
  if (root == nullptr) {
    while (below.starts_with("./")) below.erase(0, 2);
    if (below.starts_with('/')) below.erase(0, 1);
  }
  is_directory_ = below.ends_with('/');
  while (below.ends_with('/')) below.pop_back();
  if (below.empty()) return;
  add_forms(below);
  // As in gitignore, a slash at the front or within ties a pattern to its place.
  const bool is_free = written.find('/') >= written.size() - (is_directory_ ? 1 : 0) && below.find('/') == below.npos;
  if (is_free && below.find_first_of(k_globs) == std::string::npos) add_forms("*/" + below);
}

/// The pattern, and those in which a "**/" is not a directory.
void NamePattern::add_forms(const std::string& text) {
  forms_.push_back({text, KeyPattern(text)});
  for (std::size_t at = text.find("**/"); at != std::string::npos; at = text.find("**/", at + 3)) {
    if (at > 0 && text[at - 1] != '/') continue;
    std::string shorter = text;
    shorter.erase(at, 3);
    const bool is_known =
        std::any_of(forms_.begin(), forms_.end(), [&](const Form& form) { return form.text == shorter; });
    if (!shorter.empty() && !is_known && forms_.size() < k_max_forms) add_forms(shorter);
  }
}

void NamePattern::see_key(const std::string& key) {
  is_key_ = is_key_ || (text_.find_first_of(k_globs) == std::string::npos && as_given_.matches(key));
}

bool NamePattern::fits(const std::string& name) const {
  return std::any_of(forms_.begin(), forms_.end(), [&](const Form& form) { return form.pattern.matches(name); });
}

bool NamePattern::takes(const std::string& name) {
  if (as_given_.matches(name)) return noted(true);
  if (is_key_) return false;
  if (!is_directory_ && fits(name)) return noted(true);
  for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
    if (fits(name.substr(0, slash))) return noted(true);
  }
  return false;
}

bool NamePattern::takes_directory(const std::string& name) { return noted(as_given_.matches(name) || fits(name)); }

bool NamePattern::takes_all_in(const std::string& directory) const {
  return std::any_of(forms_.begin(), forms_.end(), [&](const Form& form) {
    std::string_view text = form.text;
    while (text.ends_with('*') && !text.ends_with("\\*")) text.remove_suffix(1);
    if (text.size() == form.text.size()) return false;
    if (text.empty()) return true;
    return text.ends_with('/') &&
           ::fnmatch(std::string(text.substr(0, text.size() - 1)).c_str(), directory.c_str(), 0) == 0;
  });
}

bool NamePattern::leads_into(const std::string& directory) const {
  return std::any_of(forms_.begin(), forms_.end(),
                     [&](const Form& form) { return form.text.starts_with(directory + '/'); });
}

NameFilter::NameFilter(const std::vector<std::string>& include, const std::vector<std::string>& exclude)
    : NameFilter(include, exclude, static_cast<const SourceRoot*>(nullptr)) {}

NameFilter::NameFilter(const std::vector<std::string>& include, const std::vector<std::string>& exclude,
                       const std::string& root) {
  if (include.empty() && exclude.empty()) return;
  const SourceRoot places(root);
  *this = NameFilter(include, exclude, &places);
}

NameFilter::NameFilter(const std::vector<std::string>& include, const std::vector<std::string>& exclude,
                       const SourceRoot* root) {
  for (const std::string& text : include) include_.emplace_back(text, root);
  for (const std::string& text : exclude) exclude_.emplace_back(text, root);
}

void NameFilter::see_key(const std::string& key) {
  for (std::vector<NamePattern>* patterns : {&include_, &exclude_}) {
    for (NamePattern& pattern : *patterns) pattern.see_key(key);
  }
}

bool NameFilter::takes(const std::string& name) {
  const bool included = any_takes(include_, [&](NamePattern& pattern) { return pattern.takes(name); });
  return !excludes(name) && (included || include_.empty());
}

bool NameFilter::excludes(const std::string& name) {
  return any_takes(exclude_, [&](NamePattern& pattern) { return pattern.takes(name); });
}

bool NameFilter::excludes_directory(const std::string& name) {
  if (!any_takes(exclude_, [&](NamePattern& pattern) { return pattern.takes_directory(name); })) return false;
  // Whether these match what is in the directory is not known, as it is not read.
  for (std::vector<NamePattern>* patterns : {&include_, &exclude_}) {
    for (NamePattern& pattern : *patterns) {
      if (pattern.leads_into(name) || pattern.takes_all_in(name)) pattern.set_matched();
    }
  }
  return true;
}

bool NameFilter::excludes_all_in(const std::string& directory) {
  return any_takes(exclude_, [&](NamePattern& pattern) {
    if (!pattern.takes_all_in(directory)) return false;
    pattern.set_matched();
    return true;
  });
}

void NameFilter::note_unmatched(NoticeLog& notices, std::string_view place) const {
  const auto note = [&](std::string_view option, const std::vector<NamePattern>& patterns) {
    for (const NamePattern& pattern : patterns) {
      if (!pattern.has_matched()) notices.no_match(option, pattern.text(), place);
    }
  };
  note("include", include_);
  note("exclude", exclude_);
}

std::string NameFilter::advice() const {
  NoticeLog unmatched;
  note_unmatched(unmatched, {});
  return unmatched.empty() ? "loosen the patterns" : unmatched.warnings().front().what;
}

}  // namespace bale
