// The members of a ZIP archive, also of archives in it, and their bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "bale/formats/container/streams/file_window.hpp"
#include "bale/formats/zip/directory.hpp"

namespace bale::zip {

/// The members of the archive, and notices as of read_directory(). If it has no images and archives `X.zip` instead,
/// their members, with `X/` before their names, replace these archives. Archives in these are not opened. Throws what
/// read_directory() throws, and `unsupported` for an archive in the archive that is not stored as it is.
std::vector<Member> read_members(const File& file, NoticeLog& notices);

/// Where the member's data begins. Throws `damaged` if its local header contradicts the directory.
std::uint64_t data_offset(FileWindow& window, const Member& member);

/// Fills `out` with the member's content, whose stored bytes begin at `data`, and compares its CRC-32. Precondition:
/// the member is readable. Throws `damaged`, without a path.
void read_member(const File& file, const Member& member, std::uint64_t data, MutableBytes out);

/// The parts of a file name, which borrow from it.
struct MemberName {
  std::string_view stem;       // with directories
  std::string_view extension;  // after the last dot
};

/// nullopt for directories, files without an extension, and hidden files, such as macOS's "__MACOSX/x/._y.jpg".
inline std::optional<MemberName> split_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos || dot <= base || path[base] == '.' || dot + 1 == path.size()) return std::nullopt;
  return MemberName{path.substr(0, dot), path.substr(dot + 1)};
}

}  // namespace bale::zip
