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
  return (include_.empty() || any_matches(include_, name)) && !any_matches(exclude_, name);
}

}  // namespace bale
