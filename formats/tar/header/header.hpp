// Tar headers: parses and writes the blocks of 512 bytes.
//
// The input may be hostile. Every function depends only on its input and allocates no more than the input's size.
// A parser returns a problem as text ("" if there is none); the caller adds path and offset.
// Byte layout: FORMAT.md, sections 2 and 3.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/bytes.hpp"

namespace bale::tar {

inline constexpr std::size_t k_block_bytes = 512;
// Of the name and of its prefix in a ustar header.
inline constexpr std::size_t k_name_bytes = 100;
inline constexpr std::size_t k_prefix_bytes = 155;
/// An archive is padded with zeros to a multiple of this (Python's tarfile.RECORDSIZE).
inline constexpr std::uint64_t k_record_bytes = 10240;
/// Limit of the total size of extended headers and long names before one member.
inline constexpr std::uint64_t k_max_extra_bytes = std::uint64_t{1} << 20;

/// `size` rounded up to whole blocks. Precondition: size < 2^63.
constexpr std::uint64_t padded(std::uint64_t size) { return (size + k_block_bytes - 1) & ~(k_block_bytes - 1); }

struct Header {
  char type = '0';
  std::uint64_t size = 0;
  std::string name{};  // prefix and name joined
  std::string link{};  // target of a link
};

bool is_zero_block(Bytes block);
/// Whether the first 512 bytes contain their own checksum, the sum of unsigned or (old Sun, NeXT) signed bytes.
bool has_good_checksum(Bytes block);
bool has_ustar_magic(Bytes block);

/// Parses a v7, ustar or GNU header. Precondition: block.size() == 512. `out` is reused.
std::string_view parse_header(Bytes block, Header& out);

/// The fields of a pax extended header that are used.
struct PaxFields {
  std::optional<std::string> path{};
  std::optional<std::string> link{};
  std::optional<std::uint64_t> size{};
  bool sparse = false;  // GNU.sparse.*: the member's data is a map and pieces
};

/// Adds the records of a pax header ("LENGTH KEY=VALUE\n"...) to `out`. An empty value removes a field.
std::string_view parse_pax(std::string_view records, PaxFields& out);

/// Parses the name in a GNU 'L' or 'K' member. `name` is a view into `content`.
std::string_view parse_long_name(std::string_view content, std::string_view& name);

/// Appends the header of a regular file as WebDataset's writer makes it, with modification time 0: one ustar block,
/// after a pax header if ustar cannot hold the name. Preconditions: size < 8 GiB; no NUL in `name`.
void append_member_header(std::string_view name, std::uint64_t size, std::vector<std::byte>& out);

}  // namespace bale::tar
