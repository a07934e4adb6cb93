#include "bale/formats/tar/header/header.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "bale/formats/base/text/utf8.hpp"

namespace bale::tar {
namespace {

// Fields of a header block (FORMAT.md, section 2).
constexpr std::size_t k_name_at = 0;
constexpr std::size_t k_size_at = 124, k_size_bytes = 12;
constexpr std::size_t k_checksum_at = 148, k_checksum_bytes = 8;
constexpr std::size_t k_type_at = 156;
constexpr std::size_t k_link_at = 157, k_link_bytes = 100;
constexpr std::size_t k_magic_at = 257;
constexpr std::size_t k_prefix_at = 345;

constexpr std::string_view k_posix_magic("ustar\0", 6);
constexpr std::string_view k_gnu_magic("ustar ", 6);

std::string_view field(Bytes block, std::size_t at, std::size_t length) { return as_text(block.subspan(at, length)); }

std::string_view until_nul(std::string_view text) { return text.substr(0, text.find('\0')); }

/// Octal digits after optional spaces, up to a space, a NUL or the end of the field. An empty field is 0.
std::string_view parse_octal(std::string_view text, std::uint64_t& value) {
  value = 0;
  std::size_t at = 0;
  while (at < text.size() && text[at] == ' ') ++at;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '7'; ++at) {
    value = value * 8 + static_cast<std::uint64_t>(text[at] - '0');  // 12 digits: at most 36 bits
  }
  if (at < text.size() && text[at] == '-') return "negative number";
  if (at < text.size() && text[at] != ' ' && text[at] != '\0') return "number that is not octal";
  return {};
}

/// GNU base-256: bit 7 of the first byte marks it, bit 6 is the sign, the rest is a big-endian number.
std::string_view parse_base256(std::string_view text, std::uint64_t& value) {
  const auto first = static_cast<unsigned char>(text[0]);
  if ((first & 0x40U) != 0) return "negative number";
  value = first & 0x3FU;
  for (const char c : text.substr(1)) {
    if (value >> 55 != 0) return "number beyond 2^63";
    value = value << 8 | static_cast<unsigned char>(c);
  }
  return {};
}

std::string_view parse_number(std::string_view text, std::uint64_t& value) {
  const bool base256 = (static_cast<unsigned char>(text[0]) & 0x80U) != 0;
  return base256 ? parse_base256(text, value) : parse_octal(text, value);
}

std::string_view parse_decimal(std::string_view digits, std::uint64_t& value) {
  value = 0;
  if (digits.empty()) return "empty number";
  if (digits.front() == '-') return "negative number";
  for (const char c : digits) {
    if (c < '0' || c > '9') return "number that is not decimal";
    if (value > (std::numeric_limits<std::int64_t>::max() - 9) / 10) return "number beyond 2^63";
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return {};
}

}  // namespace

bool is_zero_block(Bytes block) {
  return std::all_of(block.begin(), block.end(), [](std::byte b) { return b == std::byte{0}; });
}

bool has_good_checksum(Bytes block) {
  if (block.size() < k_block_bytes) return false;
  block = block.first(k_block_bytes);
  std::uint64_t stated = 0;
  const std::string_view text = field(block, k_checksum_at, k_checksum_bytes);
  if (text.find_first_of("01234567") == std::string_view::npos || !parse_octal(text, stated).empty()) return false;
  std::uint32_t plain = 0;
  std::uint32_t high = 0;  // bytes that are negative as a signed char
  for (const std::byte b : block) {
    plain += static_cast<std::uint32_t>(b);
    high += static_cast<std::uint32_t>(b) >> 7;
  }
  for (const std::byte b : block.subspan(k_checksum_at, k_checksum_bytes)) {
    plain -= static_cast<std::uint32_t>(b);
    high -= static_cast<std::uint32_t>(b) >> 7;
  }
  plain += k_checksum_bytes * ' ';
  const std::int64_t with_sign = static_cast<std::int64_t>(plain) - 256 * static_cast<std::int64_t>(high);
  return stated == plain || static_cast<std::int64_t>(stated) == with_sign;
}

bool has_ustar_magic(Bytes block) {
  if (block.size() < k_block_bytes) return false;
  const std::string_view magic = field(block, k_magic_at, 6);
  return magic == k_posix_magic || magic == k_gnu_magic;
}

std::string_view parse_header(Bytes block, Header& out) {
  if (!has_good_checksum(block)) return "header checksum does not match";
  if (const auto problem = parse_number(field(block, k_size_at, k_size_bytes), out.size); !problem.empty()) {
    return problem;
  }
  out.type = static_cast<char>(block[k_type_at]);
  out.name.clear();
  // GNU's variant has times at the offset of the POSIX prefix.
  if (field(block, k_magic_at, 6) == k_posix_magic) {
    const std::string_view prefix = until_nul(field(block, k_prefix_at, k_prefix_bytes));
    if (!prefix.empty()) out.name.append(prefix).append("/");
  }
  out.name += until_nul(field(block, k_name_at, k_name_bytes));
  out.link = until_nul(field(block, k_link_at, k_link_bytes));
  return {};
}

std::string_view parse_pax(std::string_view records, PaxFields& out) {
  while (!records.empty()) {
    const std::size_t space = records.find(' ');
    if (space == std::string_view::npos) return "pax record without a length";
    std::uint64_t length = 0;
    if (!parse_decimal(records.substr(0, space), length).empty()) return "pax record without a length";
    if (length <= space + 1 || length > records.size()) return "pax record longer than its header";
    const std::string_view record = records.substr(0, static_cast<std::size_t>(length));
    records.remove_prefix(record.size());
    if (record.back() != '\n') return "pax record that does not end at its stated length";
    const std::string_view body = record.substr(space + 1, record.size() - space - 2);
    const std::size_t equals = body.find('=');
    if (equals == std::string_view::npos) return "pax record without a value";
    const std::string_view key = body.substr(0, equals);
    const std::string_view value = body.substr(equals + 1);
    if (key == "path") {
      if (value.find('\0') != std::string_view::npos) return "NUL in a pax path";
      out.path = value.empty() ? std::nullopt : std::optional<std::string>(value);
    } else if (key == "linkpath") {
      out.link = value.empty() ? std::nullopt : std::optional<std::string>(until_nul(value));
    } else if (key == "size") {
      std::uint64_t size = 0;
      if (!value.empty()) {
        if (const auto problem = parse_decimal(value, size); !problem.empty()) return problem;
      }
      out.size = value.empty() ? std::nullopt : std::optional(size);
    } else if (key.starts_with("GNU.sparse.")) {
      out.sparse = true;
    }
  }
  return {};
}

std::string_view parse_long_name(std::string_view content, std::string_view& name) {
  name = content.substr(0, content.find('\0'));
  if (name.empty()) return "empty long name";
  if (content.find_first_not_of('\0', name.size()) != std::string_view::npos) return "NUL in a long name";
  return {};
}

namespace {

// A ustar header, field by field (FORMAT.md, section 2). Unset bytes are zero.
struct UstarBlock {
  char name[k_name_bytes];
  char mode[8];
  char uid[8];
  char gid[8];
  char size[12];
  char mtime[12];
  char checksum[8];
  char type;
  char link_name[100];
  char magic_and_version[8];
  char user[32];
  char group[32];
  char device_major[8];
  char device_minor[8];
  char prefix[k_prefix_bytes];
  char unused[12];
};
static_assert(sizeof(UstarBlock) == k_block_bytes);

/// Writes `digits` octal digits. Does not change the byte after them.
void put_octal(char* at, std::uint64_t value, int digits) {
  for (int i = digits - 1; i >= 0; --i, value >>= 3) at[i] = static_cast<char>('0' + (value & 7));
}

void put_text(char* at, std::string_view text) { std::memcpy(at, text.data(), text.size()); }

UstarBlock make_block(char type, std::uint64_t size) {
  UstarBlock block{};
  put_octal(block.mode, 0, 7);
  put_octal(block.uid, 0, 7);
  put_octal(block.gid, 0, 7);
  put_octal(block.size, size, 11);
  put_octal(block.mtime, 0, 11);
  put_text(block.checksum, "        ");
  block.type = type;
  put_text(block.magic_and_version, std::string_view("ustar\0"
                                                     "00",
                                                     8));
  return block;
}

/// Fills in the checksum as Python's tarfile writes it (six digits, NUL, space) and appends the block.
void append_block(UstarBlock& block, std::vector<std::byte>& out) {
  std::uint32_t sum = 0;
  for (const std::byte b : Bytes(reinterpret_cast<const std::byte*>(&block), sizeof block)) {
    sum += static_cast<std::uint32_t>(b);
  }
  put_octal(block.checksum, sum, 6);
  block.checksum[6] = '\0';
  const std::size_t at = out.size();
  out.resize(at + sizeof block);
  std::memcpy(out.data() + at, &block, sizeof block);
}

/// "LENGTH KEY=VALUE\n". LENGTH includes its own digits.
std::string pax_record(std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest;
  while (length != rest + std::to_string(length).size()) length = rest + std::to_string(length).size();
  return fmt::format("{} {}={}\n", length, key, value);
}

void append_pax_path(std::string_view path, std::vector<std::byte>& out) {
  std::string records;
  if (!is_utf8(path)) records += pax_record("hdrcharset", "BINARY");
  records += pax_record("path", path);
  UstarBlock block = make_block('x', records.size());
  put_text(block.name, "././@PaxHeader");
  append_block(block, out);
  const std::size_t at = out.size();
  out.resize(at + padded(records.size()));
  std::memcpy(out.data() + at, records.data(), records.size());
}

/// Position of the '/' between prefix and name: the first one for which both parts are short enough.
std::size_t find_split(std::string_view name) {
  for (std::size_t slash = name.find('/', 1); slash != std::string_view::npos && slash <= k_prefix_bytes;
       slash = name.find('/', slash + 1)) {
    const std::size_t rest = name.size() - slash - 1;
    if (rest > 0 && rest <= k_name_bytes) return slash;
  }
  return std::string_view::npos;
}

}  // namespace

void append_member_header(std::string_view name, std::uint64_t size, std::vector<std::byte>& out) {
  UstarBlock block = make_block('0', size);
  put_octal(block.mode, 0444, 7);
  put_text(block.user, "bigdata");
  put_text(block.group, "bigdata");
  if (name.size() <= k_name_bytes) {
    put_text(block.name, name);
  } else if (const std::size_t slash = find_split(name); slash != std::string_view::npos) {
    put_text(block.prefix, name.substr(0, slash));
    put_text(block.name, name.substr(slash + 1));
  } else {
    append_pax_path(name, out);
    put_text(block.name, name.substr(0, k_name_bytes));
  }
  append_block(block, out);
}

}  // namespace bale::tar
