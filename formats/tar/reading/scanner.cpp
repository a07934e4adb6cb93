#include "bale/formats/tar/reading/scanner.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/container/reading/scanned_fields.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/formats/shard/shard_index.hpp"
#include "bale/formats/tar/header/header.hpp"

namespace bale::tar {
namespace {

/// Largest size that a ustar header can hold. For a larger member only the pax size counts.
constexpr std::uint64_t k_max_ustar_size = (std::uint64_t{1} << 33) - 1;

/// Links, devices, directories, FIFOs: no data follows their header (POSIX allows a link to have a size).
bool is_without_data(char type) { return type >= '1' && type <= '6'; }

bool is_directory(const Header& header, std::string_view name) {
  return header.type == '5' || (header.type == '\0' && name.ends_with('/'));  // in v7, directory names end in a slash
}

/// Types that tarfile's isreg(), and therefore WebDataset, treats as files. '7' is a contiguous file.
bool is_regular(const Header& header) { return header.type == '0' || header.type == '7' || header.type == '\0'; }

std::string_view name_of_type(char type) {
  switch (type) {
    case '2':
      return "symbolic link";
    case '3':
    case '4':
      return "device";
    case '6':
      return "named pipe";
    default:
      return "member of a type that is not read";
  }
}

}  // namespace

std::optional<std::uint64_t> rest_after_end(const Stream& stream, std::uint64_t at) {
  constexpr std::uint64_t k_most_zeros = std::uint64_t{64} << 20;  // a sparse file may have any number
  const std::uint64_t end = stream.size();
  std::vector<std::byte> piece;
  for (const std::uint64_t limit = at + std::min(end - at, k_most_zeros); at < limit;) {
    piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(limit - at, 128 * k_block_bytes)));
    stream.read_exact(at, piece);
    const auto other = std::find_if(piece.begin(), piece.end(), [](std::byte byte) { return byte != std::byte{0}; });
    if (other != piece.end())
      return at + static_cast<std::uint64_t>(other - piece.begin()) / k_block_bytes * k_block_bytes;
    at += piece.size();
  }
  return at == end ? std::nullopt : std::optional(at);
}

Scanner::Scanner(const Stream& stream, const std::string& path, NoticeLog& notices)
    : stream_(stream), path_(path), notices_(notices), stream_bytes_(stream.size()) {
  window_.reserve(k_window_bytes);
  if (stream_bytes_ == 0) fail("an empty file; a tar has at least two zero blocks", 0);
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
  // Includes the padding: if a member ends inside its last block, the archive is truncated.
  if (size > stream_bytes_ - at_ || padded(size) > stream_bytes_ - at_) {
    fail(fmt::format("member of {} bytes, but the archive ends {} bytes after its header", size, stream_bytes_ - at_),
         header_at_);
  }
}

bool Scanner::read_header(Extras& extras) {
  header_at_ = at_;
  const std::uint64_t left = stream_bytes_ - at_;
  if (left == 0) {
    if (extras.any()) fail("the archive ends after an extended header", at_);
    // An archive that was cut between two members looks like a smaller one. All readers accept it; we also warn.
    notices_.defect("the archive has no end marker: it was cut short, or never finished", at_);
    return false;
  }
  if (left < k_block_bytes) fail("the archive ends inside a block", at_);
  const Bytes block = view(at_, k_block_bytes);
  if (!is_zero_block(block)) {
    check(parse_header(block, header_));
    at_ += k_block_bytes;
    return true;
  }
  if (extras.any()) fail("the archive ends after an extended header", at_);
  const std::uint64_t after = left - k_block_bytes;
  if (after != 0 && (after < k_block_bytes || !is_zero_block(view(at_ + k_block_bytes, k_block_bytes)))) {
    // All readers stop at a lone zero block.
    notices_.defect(fmt::format("a lone zero block ends the archive, and {} bytes after it are not read", after), at_);
    return false;
  }
  if (!goes_on_after_end()) return false;
  extras.pax = global_;
  return read_header(extras);
}

bool Scanner::goes_on_after_end() {
  const std::optional<std::uint64_t> rest = rest_after_end(stream_, at_);
  if (!rest) return false;
  if (stream_bytes_ - *rest < k_block_bytes || !has_good_checksum(view(*rest, k_block_bytes))) {
    notices_.add_rest(*rest, stream_bytes_ - *rest);
    return false;
  }
  notices_.warn(
      "several archives lie end to end, and all are read, as by `tar -i`; other readers stop after the first");
  at_ = begin_at_ = *rest;
  global_ = {};
  return true;
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
  // A member must not have two headers of one kind: readers disagree which one counts.
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
    case 'K': {
      if (extras.has_long_link) fail("two long link names for one member", header_at_);
      extras.has_long_link = true;
      const std::string_view link = take_extra_data(extras);
      link_ = link.substr(0, link.find('\0'));
      return true;
    }
    default:
      return false;
  }
}

void Scanner::take_member(const Extras& extras, Member& out) {
  std::uint64_t size = header_.size;
  if (extras.pax.size) {
    if (*extras.pax.size <= k_max_ustar_size && *extras.pax.size != size) {
      notices_.defect(
          "pax headers give members other sizes than their own headers do; those of the pax headers are used",
          header_at_);
    }
    size = *extras.pax.size;
  }
  check_size(size);
  out.kind = is_regular(header_) ? Member::Kind::file : Member::Kind::other;
  out.why = name_of_type(header_.type);
  out.offset = at_;
  out.size = size;
  at_ += padded(size);
}

void Scanner::take_names(const Extras& extras, Member& out) {
  if (extras.pax.path) {
    if (extras.has_long_name) fail("two long names for one member", header_at_);
    name_ = *extras.pax.path;
  } else if (!extras.has_long_name) {
    name_ = header_.name;
  }
  out = {.name = name_, .begin = begin_at_};
  if (header_.type != '1') return;
  if (extras.pax.link) {
    link_ = *extras.pax.link;
  } else if (!extras.has_long_link) {
    link_ = header_.link;
  }
  out.kind = Member::Kind::hard_link;
  out.target = link_;
}

Scanner::Step Scanner::next(Member& out) {
  Extras extras{.pax = global_};
  begin_at_ = at_;
  while (read_header(extras)) {
    if (take_extra(extras)) continue;
    if (header_.type == 'S' || extras.pax.sparse) return Step::odd;
    // Readers disagree whether data follows a hard link that has a size.
    if (header_.type == '1' && (header_.size != 0 || extras.pax.size.value_or(0) != 0)) return Step::odd;
    take_names(extras, out);
    if (is_without_data(header_.type)) {
      if (header_.type != '1') out.kind = Member::Kind::other;
      out.why = name_of_type(header_.type);
    } else {
      take_member(extras, out);
    }
    if (!is_directory(header_, name_)) return Step::member;
    extras = Extras{.pax = global_};
    begin_at_ = at_;
  }
  return Step::end;
}

namespace {

/// A part of another stream, which must outlive it.
class Slice : public Stream {
 public:
  Slice(const Stream& whole, const Extent& extent) : whole_(whole), begin_(extent.offset), size_(extent.length) {}

  std::uint64_t size() const override { return size_; }
  void read_exact(std::uint64_t offset, MutableBytes out) const override {
    if (offset > size_ || out.size() > size_ - offset) {
      throw Error(ErrorCode::damaged, "the archive in the archive ends too early", {.offset = offset});
    }
    whole_.read_exact(begin_ + offset, out);
  }
  std::optional<FileRange> locate(std::uint64_t, std::uint64_t) const override { return std::nullopt; }
  void will_need(const FileRange&) const override {}

  bool is_zip() const {
    std::array<std::byte, 4> first{};
    if (size_ < first.size()) return false;
    read_exact(0, first);
    return as_text(first) == "PK\x03\x04";
  }
  bool is_tar() const {
    std::array<std::byte, k_block_bytes> first;
    if (size_ < first.size()) return false;
    read_exact(0, first);
    return has_good_checksum(first);
  }

 private:
  const Stream& whole_;
  const std::uint64_t begin_;
  const std::uint64_t size_;
};

class Nested {
 public:
  Nested(const Stream& stream, const std::string& path, const ScanArchive& scan, const IndexBuilder& outer)
      : stream_(stream), path_(path), scan_(scan), outer_(outer) {}

  IndexBuilder run() {
    found_.notices() = outer_.notices();
    for (std::uint64_t i = 0; i < outer_.size(); ++i) take_archive(i);
    return std::move(found_);
  }

 private:
  void take_archive(std::uint64_t i) {
    const std::string name(outer_.key(i));
    const Extent extent = outer_.extent(i, 0);
    const Slice slice(stream_, extent);
    IndexBuilder inner;
    try {
      if (!slice.is_tar()) throw Error(ErrorCode::damaged, "is not a tar, as the files before it are");
      if (!scan_(slice, inner)) throw Error(ErrorCode::unsupported, "has members that need libarchive");
    } catch (const Error& error) {
      if (is_lack_of_resources(error)) throw;
      throw Error(error.code(), fmt::format("archive in the archive: {}", error.message()),
                  {.path = path_,
                   .key = name,
                   .offset = extent.offset + error.context().offset.value_or(0),
                   .hint = "unpack the outer archive, and pack what is in it",
                   .system_error = error.context().system_error});
    }
    const ShardIndex samples = ShardIndex::from_bytes(inner.build(slice.size(), std::nullopt, false, path_), path_);
    for (std::uint64_t sample = 0; sample < samples.size(); ++sample) {
      const std::uint64_t added = found_.add_sample(
          keys_.take(fmt::format("{}/{}", name, samples.key(sample)), found_.size()), samples.label(sample));
      for (const auto& [field, place] : samples.row(sample)) {
        set_scanned_field(found_, added, samples.fields()[field], extent.offset + place.offset, place.length,
                          {.path = path_, .offset = extent.offset + place.offset});
      }
    }
    take_notices(inner.notices(), name, extent.offset);
  }

  /// Defects are named by their offsets in the whole stream.
  void take_notices(NoticeLog notices, const std::string& name, std::uint64_t begin) {
    for (const Warning& warning : notices.warnings()) {
      if (warning.kind == WarningKind::defect)
        found_.notices().defect(warning.what, begin + warning.offset.value_or(0));
    }
    notices.drop_defects();
    found_.notices().merge(notices, name);
  }

  const Stream& stream_;
  const std::string& path_;
  const ScanArchive& scan_;
  const IndexBuilder& outer_;
  IndexBuilder found_;
  ForeignKeys keys_;
};

}  // namespace

void open_nested(const Stream& stream, const std::string& path, const ScanArchive& scan, IndexBuilder& index) {
  if (index.size() == 0 || index.fields().size() != 1) return;
  if (index.fields()[0].stored_name() == "zip" && Slice(stream, index.extent(0, 0)).is_zip()) {
    throw Error(ErrorCode::unsupported, fmt::format("a tar of zip archives, such as {}.zip", printable(index.key(0))),
                {.path = path, .hint = "unpack the tar, and pack the zip archives"});
  }
  if (index.fields()[0].stored_name() != "tar") return;
  if (!Slice(stream, index.extent(0, 0)).is_tar()) return;
  index = Nested(stream, path, scan, index).run();
}

}  // namespace bale::tar
