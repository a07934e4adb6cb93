// Records of a file: the frame around each, and the magic numbers that are split out of it (FORMAT.md, "File").
//
// A payload has a place in the file for every byte of it: where the writer drops a magic number from the payload, the
// header of the next part opens with the same four bytes. So the file holds the payload with four bytes put in, the
// length word of that header, behind every such number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/authoring/file_window.hpp"

namespace bale::recordio {

inline constexpr std::uint32_t k_magic = 0xCED7230A;
inline constexpr std::size_t k_part_header_bytes = 8;
inline constexpr std::size_t k_word_bytes = 4;  // parts begin at multiples of this
inline constexpr unsigned k_length_bits = 29;
/// dmlc's writer refuses a larger record.
inline constexpr std::uint64_t k_max_payload_bytes = (std::uint64_t{1} << k_length_bits) - 1;

/// What a part is of its record; the upper bits of its length word.
enum class PartKind : std::uint32_t { whole = 0, first = 1, middle = 2, last = 3 };

/// The second word of a part's header. Precondition: length <= k_max_payload_bytes.
constexpr std::uint32_t length_word(PartKind kind, std::uint64_t length) {
  return static_cast<std::uint32_t>(kind) << k_length_bits | static_cast<std::uint32_t>(length);
}

struct Record {
  std::uint64_t number = 0;
  std::uint64_t offset = 0;             // of its first header in the file
  std::uint64_t length = 0;             // of its payload, split numbers included
  std::vector<std::uint64_t> splits{};  // positions in the payload of the numbers that were split out

  /// Where the payload's byte at `position` lies in the file. Precondition: position <= length.
  std::uint64_t place_of(std::uint64_t position) const;
  /// Length words that lie between the first and the last byte of a stretch of the payload.
  std::uint64_t words_within(std::uint64_t position, std::uint64_t bytes) const;
};

/// Walks the records of a file by their headers.
class RecordWalk {
 public:
  /// From the header at `offset` on; records are counted from 0.
  explicit RecordWalk(FileWindow& window, std::uint64_t offset = 0) : window_(window), at_(offset) {}

  /// Moves to the next record, reusing `record`; false at the end of the file. Throws `damaged` for anything that is
  /// no header where one must be, or a record that is cut short: what follows is not looked for.
  bool next(Record& record);

 private:
  bool next_part(Record& record);

  FileWindow& window_;
  std::uint64_t at_;
  std::uint64_t number_ = 0;
};

/// Throws `damaged` in the name of a record, with the offset of its header.
[[noreturn]] void fail_record(const std::string& path, const Record& record, std::string_view what);

/// Fills `out` with payload bytes that begin at `place` in the file and have `words` length words within. Throws
/// `damaged` where those are not found.
void read_payload(const File& file, std::uint64_t place, std::uint64_t words, MutableBytes out);

/// Payload bytes of a record, wherever its parts lie: for headers and the like.
std::vector<std::byte> read_bytes(FileWindow& window, const Record& record, std::uint64_t position,
                                  std::uint64_t length);

/// Adds to `found` the positions of the aligned magic numbers in the bytes that `parts` hold end to end.
void find_magic(std::span<const Bytes> parts, std::vector<std::uint64_t>& found);

}  // namespace bale::recordio
