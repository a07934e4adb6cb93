#include <cstring>

#include <fmt/format.h>

#include "bale/formats/base/text/utf8.hpp"
#include "bale/formats/tar/header/header.hpp"

namespace bale::tar {
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
