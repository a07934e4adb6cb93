// The central directory at the end of a ZIP archive.
//
// Source: PKWARE's APPNOTE.TXT 6.3: 4.3.12 (central directory), 4.3.14 to 4.3.16 (end records), 4.5.3 (ZIP64 field).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/formats/base/file.hpp"
#include "bale/formats/base/file_range.hpp"
#include "bale/formats/base/notice_log.hpp"

namespace bale::zip {

inline constexpr std::uint64_t k_local_header_bytes = 30;  // without name and extra field

enum class Method : std::uint16_t { stored = 0, deflated = 8 };  // others are not read

struct Member {
  std::string name;                  // raw bytes, after the name of the archive in the archive if it is in one
  std::uint16_t own_name_bytes = 0;  // in the archive that it is in
  std::uint64_t header = 0;          // offset of the local header in the file
  std::uint64_t stored_bytes = 0;
  std::uint64_t bytes = 0;  // as delivered
  std::uint32_t crc32 = 0;
  std::uint16_t method = 0;
  bool is_encrypted = false;
  bool is_of_windows = false;  // made on FAT or NTFS, says its maker
  bool is_link = false;        // symbolic: its content is a path

  bool is_readable() const {
    return !is_encrypted && (method == static_cast<std::uint16_t>(Method::stored) ||
                             method == static_cast<std::uint16_t>(Method::deflated));
  }
  /// Of a member that is not readable: "compressed by LZMA (method 14), which bale does not read".
  std::string why_unreadable() const;
};

/// The members in the order of the directory of the archive that fills `range` of the file. Throws `damaged` for an
/// archive without a whole directory, and for members that lie outside it or overlap, `unsupported` for archives of
/// several files. Memory is bounded by the range's length. `notices` gets what follows the archive in its range, and
/// whether its names have backslashes between folders, which are then slashes in Member::name.
std::vector<Member> read_directory(const File& file, const FileRange& range, NoticeLog& notices);

}  // namespace bale::zip
