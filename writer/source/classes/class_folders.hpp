// Classes by the folders in the keys of a packed source, as ImageFolder has them for a folder of files.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/notice_log.hpp"

namespace bale {

struct KeyFolders {
  std::vector<std::string> names;      // each once
  std::vector<std::uint32_t> folders;  // of each sample: position in `names`
  bool have_folders = false;           // a sample lies deeper than in one of them
};

/// Of `size` samples with the keys `key(i)`, the class folder of each: the first folder of its key. Folders that all
/// keys begin with are left out as long as each key has a further one, so that an archive may have its class folders at
/// any depth. Throws `invalid_argument`, naming `path` and the key, for a key without a folder.
KeyFolders class_folders_of(std::uint64_t size, const std::function<std::string(std::uint64_t)>& key,
                            const std::string& path);

/// Says that samples without labels lie in several folders, which `class_folders` makes classes; else empty.
NoticeLog class_folders_notice(std::uint64_t size, const std::function<std::string(std::uint64_t)>& key);

/// Whether a folder of this name is one of programs, not of people: .ipynb_checkpoints, @eaDir, $RECYCLE.BIN.
bool is_hidden_folder(std::string_view name);

/// Class folders that are probably not meant as classes.
/// Adds a warning about the folder `root` if all of its class folders have names of splits (train, val, ...), or the
/// only one has folders (`have_folders`), so that the classes are probably one level below; if there is but one in
/// a folder of which all is taken (`are_all`), whose label is of no use; and if a class folder is hidden
/// (.ipynb_checkpoints), which shifts the numbers of the others. torchvision's ImageFolder takes all of these without a
/// word.
void warn_of_odd_class_folders(const std::string& root, const std::vector<std::string>& names, bool have_folders,
                               bool are_all, NoticeLog& notices);

}  // namespace bale
