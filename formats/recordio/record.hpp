// Records of a file: the frame around each, and the magic numbers that are split out of it (FORMAT.md, "File").
//
// The file has every byte of a payload: the writer drops a magic number from the payload, but the header of the next
// part begins with the same four bytes. So the file holds the payload with four extra bytes, the length word of that
// header, after every such number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/container/streams/file_window.hpp"

namespace bale::recordio {

inline constexpr std::uint32_t k_magic = 0xCED7230A;
inline constexpr std::size_t k_part_header_bytes = 8;
inline constexpr std::size_t k_word_bytes = 4;  // parts begin at multiples of this
inline constexpr unsigned k_length_bits = 29;
/// dmlc's writer refuses a larger record.
inline constexpr std::uint64_t k_max_payload_bytes = (std::uint64_t{1} << k_length_bits) - 1;

/// Position of a part in its record: the upper bits of its length word.
enum class PartKind : std::uint32_t { whole = 0, first = 1, middle = 2, last = 3 };

/// The second word of a part's header. Precondition: length <= k_max_payload_bytes.
constexpr std::uint32_t length_word(PartKind kind, std::uint64_t length) {
  return static_cast<std::uint32_t>(kind) << k_length_bits | static_cast<std::uint32_t>(length);
}

inline bool begins_like_record(Bytes bytes) {
  return bytes.size() >= sizeof k_magic && load_at<std::uint32_t>(bytes.data()) == k_magic;
}

struct Record {
  std::uint64_t number = 0;
  std::uint64_t offset = 0;             // of its first header in the file
  std::uint64_t length = 0;             // of its payload, split numbers included
  std::vector<std::uint64_t> splits{};  // positions in the payload of the numbers that were split out

  /// Offset in the file of the payload's byte at `position`. Precondition: position <= length.
  std::uint64_t place_of(std::uint64_t position) const;
  /// Number of length words between the first and the last byte of a range of the payload.
  std::uint64_t words_within(std::uint64_t position, std::uint64_t bytes) const;
};

/// Walks the records of a file by their headers.
class RecordWalk {
 public:
  /// Starts at the header at `offset`. Records are counted from 0.
  explicit RecordWalk(FileWindow& window, std::uint64_t offset = 0) : window_(window), at_(offset) {}

  /// Moves to the next record and reuses `record`; false at the end of the file. Throws `damaged` if a header is
  /// missing or invalid, or the record is truncated. It does not search for further records then.
  bool next(Record& record);

 private:
  bool next_part(Record& record);

  FileWindow& window_;
  std::uint64_t at_;
  std::uint64_t number_ = 0;
};

/// Throws `damaged` with the number of the record and the offset of its header.
[[noreturn]] void fail_record(const std::string& path, const Record& record, std::string_view what);

/// Fills `out` with payload bytes that begin at `place` in the file and contain `words` length words. Throws `damaged`
/// if those are not found.
void read_payload(const File& file, std::uint64_t place, std::uint64_t words, MutableBytes out);

/// Payload bytes of a record, from all its parts. For short reads, such as headers.
std::vector<std::byte> read_bytes(FileWindow& window, const Record& record, std::uint64_t position,
                                  std::uint64_t length);

/// Adds to `found` the positions of the aligned magic numbers in the concatenation of `parts`.
void find_magic(std::span<const Bytes> parts, std::vector<std::uint64_t>& found);

}  // namespace bale::recordio
