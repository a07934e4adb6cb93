// The common part of the headers of bale's binary files: a magic number first, then a version, and at the end the
// CRC32C of all bytes before it. Internal.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"

namespace bale {

/// The header of the file, after its magic number, checksum and version were checked. If the file is damaged, calls
/// `fail` with the reason; `fail` throws. `what` is the kind of file, as in "index". Throws `unsupported` if the
/// version is not `version`.
template <typename Header, typename Fail>
Header load_checked_header(Bytes file, const decltype(Header::magic)& magic, std::uint32_t version,
                           std::string_view what, const std::string& path, const Fail& fail) {
  static_assert(offsetof(Header, header_crc32c) + sizeof(std::uint32_t) == sizeof(Header));
  if (file.size() < sizeof(Header)) fail("shorter than its header");
  const auto header = load_at<Header>(file.data());
  if (std::memcmp(header.magic, magic, sizeof header.magic) != 0) fail("bad magic number, not a file of bale");
  if (crc32c(file.first(offsetof(Header, header_crc32c))) != header.header_crc32c) {
    fail("header checksum does not match");
  }
  if (header.version != version) {
    throw Error(ErrorCode::unsupported, fmt::format("{} version {}, this bale reads {}", what, header.version, version),
                {.path = path, .hint = "use a newer bale"});
  }
  return header;
}

/// Sets the checksum of a header that is otherwise complete.
template <typename Header>
void seal_header(Header& header) {
  header.header_crc32c = crc32c(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, header_crc32c)));
}

}  // namespace bale
