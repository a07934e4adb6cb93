#include "bale/writer/source/classes/class_folders.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/names/known_names.hpp"

namespace bale {
namespace {

/// The first folder of `key` after `skip` bytes; npos if there is none.
std::size_t end_of_folder(std::string_view key, std::size_t skip) { return key.find('/', skip); }

/// How many bytes at the beginning of all keys are folders that no class is.
std::size_t common_folders(std::uint64_t size, const std::function<std::string(std::uint64_t)>& key) {
  std::string common = size == 0 ? std::string() : key(0);
  // What all keys have in front, up to a slash; one folder must be left in the key with the fewest.
  std::size_t least = common.size();
  for (std::uint64_t i = 0; i < size && !common.empty(); ++i) {
    const std::string own = key(i);
    const auto differs = std::mismatch(common.begin(), common.end(), own.begin(), own.end());
    common.erase(differs.first, common.end());
    const std::size_t last = own.rfind('/');
    least = std::min(least, last == std::string::npos ? 0 : last);
  }
  for (std::size_t slash = common.rfind('/'); slash != std::string::npos;) {
    if (slash < least) return slash + 1;
    if (slash == 0) break;
    slash = common.rfind('/', slash - 1);
  }
  return 0;
}

}  // namespace

KeyFolders class_folders_of(std::uint64_t size, const std::function<std::string(std::uint64_t)>& key,
                            const std::string& path) {
  const std::size_t skip = common_folders(size, key);
  KeyFolders found;
  found.folders.reserve(size);
  std::unordered_map<std::string, std::uint32_t> numbers;
  for (std::uint64_t i = 0; i < size; ++i) {
    const std::string own = key(i);
    const std::size_t end = end_of_folder(own, skip);
    if (end == std::string::npos) {
      throw Error(ErrorCode::invalid_argument, "a sample in no class folder",
                  {.path = path, .key = own, .hint = "leave it out with `exclude`, or leave out `class_folders`"});
    }
    const auto [at, is_new] =
        numbers.try_emplace(own.substr(skip, end - skip), static_cast<std::uint32_t>(numbers.size()));
    if (is_new) found.names.push_back(at->first);
    found.folders.push_back(at->second);
    found.have_folders = found.have_folders || end_of_folder(own, end + 1) != std::string::npos;
  }
  return found;
}

bool is_hidden_folder(std::string_view name) {
  constexpr std::array<std::string_view, 6> k_system{"$RECYCLE.BIN", "#recycle",   "@eaDir",
                                                     "__MACOSX",     "lost+found", "System Volume Information"};
  return name.starts_with('.') || std::find(k_system.begin(), k_system.end(), name) != k_system.end();
}

NoticeLog class_folders_notice(std::uint64_t size, const std::function<std::string(std::uint64_t)>& key) {
  NoticeLog found;
  if (size == 0 || key(0).find('/') == std::string::npos) return found;  // as most archives
  KeyFolders folders;
  try {
    folders = class_folders_of(size, key, {});
  } catch (const Error&) {
    return found;  // a sample lies in none
  }
  if (folders.names.size() < 2 || folders.names.size() == size) return found;
  found.warn(
      fmt::format("the samples have no labels; give `class_folders` if the {} folders in their keys, such as {}, are "
                  "the classes",
                  folders.names.size(), printable(*std::min_element(folders.names.begin(), folders.names.end()))));
  return found;
}

void warn_of_odd_class_folders(const std::string& root, const std::vector<std::string>& names, bool have_folders,
                               bool are_all, NoticeLog& notices) {
  NoticeLog found;
  if (!names.empty() && std::all_of(names.begin(), names.end(), is_split_name)) {
    found.warn(
        fmt::format("the only classes are {}{}, which are usual names of splits; if the classes are the folders "
                    "below, pack each split by itself",
                    printable(names.front()), names.size() == 1 ? "" : " and " + printable(names.back())));
  } else if (names.size() == 1 && have_folders) {
    found.warn(
        fmt::format("the only class is {0}, and it has folders; if they are the classes, pack the folder {0}, or of an "
                    "archive what `include` '*{0}/*/*' takes",
                    printable(names.front())));
  } else if (names.size() == 1 && are_all) {
    found.warn(fmt::format("the only class is {}, so every label is the same; give `flat` if it is not a class",
                           printable(names.front())));
  }
  const auto hidden = std::find_if(names.begin(), names.end(), is_hidden_folder);
  if (hidden != names.end()) {
    found.warn(
        fmt::format("the hidden folder {} is a class, as it is for torchvision's ImageFolder; leave it out with "
                    "`exclude` if it is not meant as one",
                    printable(*hidden)));
  }
  notices.merge(found, root);
}

}  // namespace bale
