#include "bale/formats/tar/scanner.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/core/error.hpp"

namespace bale::tar {
namespace {

/// Largest size that a ustar header can say; beyond it a pax size is the only one that counts.
constexpr std::uint64_t k_max_ustar_size = (std::uint64_t{1} << 33) - 1;

/// Links, devices, directories, FIFOs: nothing follows their header (POSIX lets a link have a size).
bool is_without_data(char type) { return type >= '1' && type <= '6'; }

/// Types that tarfile's isreg() and so WebDataset reads as files; '7' is a contiguous file.
bool is_regular(const Header& header, const std::string& name) {
  if (header.type == '\0') return !name.ends_with('/');  // before ustar, a slash made it a directory
  return header.type == '0' || header.type == '7';
}

}  // namespace

Scanner::Scanner(const Stream& stream, const std::string& path)
    : stream_(stream), path_(path), stream_bytes_(stream.size()) {
  window_.reserve(k_window_bytes);
  if (stream_bytes_ == 0) fail("an empty file, where at least two zero blocks must be", 0);
}

void Scanner::fail(std::string_view what, std::uint64_t offset) const {
  throw Error(ErrorCode::damaged, what, {.path = path_, .offset = offset, .hint = "copy or pack it again"});
}

Bytes Scanner::view(std::uint64_t offset, std::size_t length) {
  if (offset < window_at_ || offset + length > window_at_ + window_.size()) {
    window_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(k_window_bytes, stream_bytes_ - offset)));
    window_at_ = offset;
    stream_.read_exact(offset, window_);
  }
  return Bytes(window_).subspan(static_cast<std::size_t>(offset - window_at_), length);
}

void Scanner::check_size(std::uint64_t size) const {
  // With the padding: a member cut in its last block is a cut archive.
  if (size > stream_bytes_ - at_ || padded(size) > stream_bytes_ - at_) {
    fail(fmt::format("member of {} bytes, but the archive ends {} bytes after its header", size, stream_bytes_ - at_),
         header_at_);
  }
}

bool Scanner::read_header(const Extras& extras) {
  header_at_ = at_;
  const std::uint64_t left = stream_bytes_ - at_;
  if (left == 0) {
    if (extras.any()) fail("the archive ends after an extended header", at_);
    // Cut between two members, an archive would otherwise pass for a smaller one.
    throw Error(ErrorCode::damaged, "the archive has no end marker: it was cut short, or never finished",
                {.path = path_,
                 .offset = at_,
                 .hint = "copy it again; if nothing is missing, append 1024 zero bytes and index it again"});
  }
  if (left < k_block_bytes) fail("the archive ends inside a block", at_);
  const Bytes block = view(at_, k_block_bytes);
  if (!is_zero_block(block)) {
    check(parse_header(block, header_));
    at_ += k_block_bytes;
    return true;
  }
  if (extras.any()) fail("the archive ends after an extended header", at_);
  if (left > k_block_bytes) {
    if (left < 2 * k_block_bytes) fail("the archive ends inside a block", at_ + k_block_bytes);
    if (!is_zero_block(view(at_ + k_block_bytes, k_block_bytes))) fail("a lone zero block between members", at_);
  }
  return false;
}

std::string_view Scanner::take_extra_data(Extras& extras) {
  if (header_.size > k_max_extra_bytes - extras.bytes) {
    fail(fmt::format("extended header of {} bytes; more than {} a member are refused", header_.size, k_max_extra_bytes),
         header_at_);
  }
  check_size(header_.size);
  extras.bytes += header_.size;
  extra_.resize(static_cast<std::size_t>(header_.size));
  stream_.read_exact(at_, extra_);
  at_ += padded(header_.size);
  return as_text(extra_);
}

bool Scanner::take_extra(Extras& extras) {
  // Two of a kind for one member: readers disagree which one wins.
  switch (header_.type) {
    case 'g':
      if (extras.any()) fail("global header between a member and its extended header", header_at_);
      check(parse_pax(take_extra_data(extras), global_));
      extras.pax = global_;
      return true;
    case 'x':
    case 'X':  // Solaris
      if (extras.has_pax) fail("two extended headers for one member", header_at_);
      extras.has_pax = true;
      check(parse_pax(take_extra_data(extras), extras.pax));
      return true;
    case 'L': {
      if (extras.has_long_name) fail("two long names for one member", header_at_);
      extras.has_long_name = true;
      std::string_view name;
      check(parse_long_name(take_extra_data(extras), name));
      name_ = name;
      return true;
    }
    case 'K':
      if (extras.has_long_link) fail("two long link names for one member", header_at_);
      extras.has_long_link = true;
      take_extra_data(extras);
      return true;
    default:
      return false;
  }
}

void Scanner::take_member(const Extras& extras, Member& out) {
  std::uint64_t size = header_.size;
  if (extras.pax.size) {
    if (*extras.pax.size <= k_max_ustar_size && *extras.pax.size != size) {
      fail(fmt::format("pax header says {} bytes, the member's own header {}", *extras.pax.size, size), header_at_);
    }
    size = *extras.pax.size;
  }
  check_size(size);
  if (extras.pax.path) {
    if (extras.has_long_name) fail("two long names for one member", header_at_);
    name_ = *extras.pax.path;
  } else if (!extras.has_long_name) {
    name_ = header_.name;
  }
  out = {.name = name_, .begin = begin_at_, .offset = at_, .size = size};
  at_ += padded(size);
}

Scanner::Step Scanner::next(Member& out) {
  Extras extras{.pax = global_};
  begin_at_ = at_;
  while (read_header(extras)) {
    if (take_extra(extras)) continue;
    if (header_.type == 'S' || extras.pax.sparse) return Step::odd;
    // Readers disagree whether data follows a hard link that has a size.
    if (header_.type == '1' && (header_.size != 0 || extras.pax.size.value_or(0) != 0)) return Step::odd;
    if (!is_without_data(header_.type)) {
      take_member(extras, out);
      if (is_regular(header_, name_)) return Step::member;
    }
    extras = Extras{.pax = global_};
    begin_at_ = at_;
  }
  return Step::end;
}

}  // namespace bale::tar
