#include "bale/formats/base/names/contained_name.hpp"

#include <algorithm>

namespace bale {

std::string contained_name(std::string_view name) {
  std::string contained;
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    begin = end + 1;
    if (part == "..") contained.clear();
    if (part.empty() || part == "." || part == "..") continue;
    if (!contained.empty()) contained += '/';
    for (const char c : part) {
      if (c == '\0') {
        contained += "%00";
      } else {
        contained += c;
      }
    }
  }
  return contained;
}

bool leads_outside(std::string_view name) {
  const bool has_parent =
      name == ".." || name.starts_with("../") || name.ends_with("/..") || name.find("/../") != std::string_view::npos;
  return has_parent || name.starts_with('/');
}

}  // namespace bale
