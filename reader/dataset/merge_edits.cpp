#include "bale/reader/dataset/merge_edits.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bale {

ImageEditNames merge_edits(const std::vector<ImageEditNames>& datasets) {
  std::map<std::string, std::set<std::string>> found;
  std::set<std::string> of_some;
  for (const ImageEditNames& edits : datasets) {
    for (const auto& [name, value] : edits) {
      if (!value.ends_with(k_some_images)) {
        found[name].insert(value);
        continue;
      }
      found[name].insert(value.substr(0, value.size() - k_some_images.size()));
      of_some.insert(name);
    }
  }
  ImageEditNames merged;
  for (const auto& [name, values] : found) {
    const auto has_it = [&edit = name](const ImageEditNames& edits) { return edits.contains(edit); };
    const bool all =
        values.size() == 1 && !of_some.contains(name) && std::all_of(datasets.begin(), datasets.end(), has_it);
    merged[name] = fmt::format("{}{}", fmt::join(values, " or "), all ? "" : k_some_images);
  }
  return merged;
}

}  // namespace bale
