#include "bale/writer/source/name_filter.hpp"

#include <fnmatch.h>

#include <algorithm>

namespace bale {
namespace {

bool any_matches(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0; });
}

}  // namespace

NameFilter::NameFilter(std::vector<std::string> include, std::vector<std::string> exclude)
    : include_(std::move(include)), exclude_(std::move(exclude)) {}

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
  return std::any_of(exclude_.begin(), exclude_.end(), [&](const std::string& pattern) {
    if (pattern == "*") return true;
    return pattern.ends_with("/*") && ::fnmatch(pattern.substr(0, pattern.size() - 2).c_str(), name.c_str(), 0) == 0;
  });
}

}  // namespace bale
