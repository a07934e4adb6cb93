// Archives of ZIP archives, as data sets of many classes or years are shipped: one archive for each.
#pragma once

#include <vector>

#include "bale/formats/zip/directory.hpp"

namespace bale::zip {

/// The members of the archive, and notices as of read_directory(). If it has no images and archives `X.zip` instead,
/// their members, with `X/` before their names, replace these archives. Archives in these are not opened. Throws what
/// read_directory() throws, and `unsupported` for an archive in the archive that is not stored as it is.
std::vector<Member> read_members(const File& file, NoticeLog& notices);

}  // namespace bale::zip
