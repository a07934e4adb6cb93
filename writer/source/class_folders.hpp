// Classes by the folders in the keys of a packed source, as ImageFolder has them for a folder of files.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bale {

struct FolderClasses {
  std::vector<std::string> names;      // sorted; the name of class 0, 1, ...
  std::vector<std::uint32_t> classes;  // of each sample
};

/// Of `size` samples with the keys `key(i)`, the class of each: the first folder of its key. Folders that all keys
/// begin with are left out as long as each key has a further one, so that an archive may have its class folders at any
/// depth. Throws `invalid_argument`, naming `path` and the key, for a key without a folder.
FolderClasses classes_by_folder(std::uint64_t size, const std::function<std::string(std::uint64_t)>& key,
                                const std::string& path);

}  // namespace bale
