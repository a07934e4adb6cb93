#include "bale/writer/source/classes/class_folders.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/ascii_case.hpp"

namespace bale {
namespace {

constexpr std::array<std::string_view, 10> k_split_names{"dev",      "eval", "test",     "testing", "train",
                                                         "training", "val",  "validate", "valid",   "validation"};

bool is_split_name(std::string_view name) {
  return std::find(k_split_names.begin(), k_split_names.end(), lower_case(name)) != k_split_names.end();
}

}  // namespace

void warn_of_odd_class_folders(const std::string& root, const std::vector<std::string>& names, NoticeLog& notices) {
  NoticeLog found;
  if (!names.empty() && std::all_of(names.begin(), names.end(), is_split_name)) {
    found.warn(
        fmt::format("the only classes are {}{}, which are usual names of splits; if the classes are the folders "
                    "below, pack each split by itself",
                    printable(names.front()), names.size() == 1 ? "" : " and " + printable(names.back())));
  }
  const auto hidden =
      std::find_if(names.begin(), names.end(), [](const std::string& name) { return name.starts_with('.'); });
  if (hidden != names.end()) {
    found.warn(
        fmt::format("the hidden folder {} is a class, as it is for torchvision's ImageFolder; leave it out with "
                    "`exclude` if it is not meant as one",
                    printable(*hidden)));
  }
  notices.merge(found, root);
}

}  // namespace bale
