// Tar headers: blocks of 512 bytes in, names and sizes out, and back.
//
// The hostile-input part of this format: everything here is a pure function of its bytes, allocates no
// more than it is given, and reports a problem as a text ("" where all is well) for the caller to place.
// Byte facts: FORMAT.md, sections 2 and 3.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/bytes.hpp"

namespace bale::tar {

inline constexpr std::size_t k_block_bytes = 512;
/// An archive is padded with zeros to a multiple of this (python's tarfile.RECORDSIZE).
inline constexpr std::uint64_t k_record_bytes = 10240;
/// Extended headers and long names in front of one member, taken together, may be this large.
inline constexpr std::uint64_t k_max_extra_bytes = std::uint64_t{1} << 20;

/// `size` rounded up to whole blocks. Precondition: size < 2^63.
constexpr std::uint64_t padded(std::uint64_t size) { return (size + k_block_bytes - 1) & ~(k_block_bytes - 1); }

struct Header {
  char type = '0';
  std::uint64_t size = 0;
  std::string name{};  // prefix and name joined
  std::string link{};  // what a link leads to
};

bool is_zero_block(Bytes block);
/// Whether the first 512 bytes carry their own checksum, summed unsigned or (old Sun, NeXT) signed.
bool has_good_checksum(Bytes block);
bool has_ustar_magic(Bytes block);

/// Parses a v7, ustar or GNU header. Precondition: block.size() == 512. `out` is reused.
std::string_view parse_header(Bytes block, Header& out);

/// What a pax extended header says that matters here.
struct PaxFields {
  std::optional<std::string> path{};
  std::optional<std::string> link{};
  std::optional<std::uint64_t> size{};
  bool sparse = false;  // GNU.sparse.*: the member's data is a map and pieces
};

/// Adds the records of a pax header ("LENGTH KEY=VALUE\n"...) to `out`; an empty value takes a field back.
std::string_view parse_pax(std::string_view records, PaxFields& out);

/// The name in a GNU 'L' or 'K' member, a view into `content`.
std::string_view parse_long_name(std::string_view content, std::string_view& name);

/// Appends the header of a regular file as WebDataset's writer makes it, with modification time 0: one
/// ustar block, or (a name that ustar cannot say) a pax header before it.
/// Preconditions: size < 8 GiB; no NUL in `name`.
void append_member_header(std::string_view name, std::uint64_t size, std::vector<std::byte>& out);

}  // namespace bale::tar
