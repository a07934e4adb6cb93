#include "bale/writer/source/name_filter.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <utility>

namespace bale {
namespace {

bool any_matches(const std::vector<KeyPattern>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const KeyPattern& pattern) { return pattern.matches(name); });
}

}  // namespace

NameFilter::NameFilter(const std::vector<std::string>& include, std::vector<std::string> exclude)
    : include_(include.begin(), include.end()), exclude_(exclude.begin(), exclude.end()), exclude_texts_(std::move(exclude)) {}

bool NameFilter::takes(const std::string& name) const {
  if (!include_.empty() && !any_matches(include_, name)) return false;
  if (exclude_.empty()) return true;
  for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
    if (any_matches(exclude_, name.substr(0, slash))) return false;
  }
  return !any_matches(exclude_, name);
}

bool NameFilter::excludes_directory(const std::string& name) const { return any_matches(exclude_, name); }

bool NameFilter::excludes_all_in(const std::string& name) const {
  return std::any_of(exclude_texts_.begin(), exclude_texts_.end(), [&](const std::string& pattern) {
    if (pattern == "*") return true;
    return pattern.ends_with("/*") && ::fnmatch(pattern.substr(0, pattern.size() - 2).c_str(), name.c_str(), 0) == 0;
  });
}

}  // namespace bale
