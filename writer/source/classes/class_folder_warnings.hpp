// Class folders that are probably not meant as classes.
#pragma once

#include <string>
#include <vector>

#include "bale/formats/base/notice_log.hpp"

namespace bale {

/// Adds a warning about the folder `root` if all of its class folders have names of splits (train, val, ...), so that
/// the classes are probably one level below, and one if a class folder is hidden (.ipynb_checkpoints), which shifts the
/// numbers of the others. torchvision's ImageFolder takes both without a word.
void warn_of_odd_class_folders(const std::string& root, const std::vector<std::string>& names, NoticeLog& notices);

}  // namespace bale
