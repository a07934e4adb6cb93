#include "bale/formats/zip/member.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/container/streams/file_window.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/formats/zip/directory.hpp"

namespace bale::zip {
namespace {

[[noreturn]] void fail(std::string_view what) { throw Error(ErrorCode::damaged, what); }

/// Raw deflate, all in memory. Sizes are below 4 GiB, because fields are.
void inflate_all(Bytes input, MutableBytes out) {
  z_stream state{};
  if (inflateInit2(&state, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  std::byte nothing{};
  state.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input.data()));
  state.avail_in = static_cast<uInt>(input.size());
  state.next_out = reinterpret_cast<Bytef*>(out.empty() ? &nothing : out.data());
  state.avail_out = static_cast<uInt>(out.size());
  const int result = inflate(&state, Z_FINISH);
  const bool whole = result == Z_STREAM_END && state.avail_out == 0 && state.avail_in == 0;
  inflateEnd(&state);
  if (!whole) fail("damaged deflate data");
}

std::uint32_t crc32_of(Bytes bytes) {
  return static_cast<std::uint32_t>(::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

std::uint64_t data_offset(FileWindow& window, const Member& member) {
  const Bytes header = window.from(member.header, k_local_header_bytes);
  const auto where = [&] { return ErrorContext{.path = window.file().path(), .offset = member.header}; };
  if (header.size() < k_local_header_bytes || !as_text(header).starts_with(std::string_view("PK\3\4", 4)) ||
      load_at<std::uint16_t>(header.data() + 8) != member.method ||
      load_at<std::uint16_t>(header.data() + 26) != member.own_name_bytes) {
    throw Error(ErrorCode::damaged,
                fmt::format("member \"{}\": its local header and the directory disagree", printable(member.name)),
                where());
  }
  const std::uint64_t data =
      member.header + k_local_header_bytes + member.own_name_bytes + load_at<std::uint16_t>(header.data() + 28);
  if (data > window.file_bytes() || member.stored_bytes > window.file_bytes() - data) {
    throw Error(ErrorCode::damaged, fmt::format("member \"{}\" goes beyond the end", printable(member.name)), where());
  }
  return data;
}

void read_member(const File& file, const Member& member, std::uint64_t data, MutableBytes out) {
  if (out.size() != member.bytes) fail("the archive says something else than its index");
  if (member.method == static_cast<std::uint16_t>(Method::stored)) {
    if (member.stored_bytes != member.bytes) fail("stored bytes of another size");
    file.read_exact(data, out);
  } else {
    std::vector<std::byte> stored(static_cast<std::size_t>(member.stored_bytes));
    file.read_exact(data, stored);
    inflate_all(stored, out);
  }
  if (crc32_of(out) != member.crc32) fail("CRC-32 does not match");
}

namespace {

constexpr std::string_view k_hint = "unpack the outer archive, and pack what is in it";

bool is_image(const Member& member) {
  const auto name = split_name(member.name);
  return name && is_image_field(field_name(name->extension));
}

bool is_archive(const Member& member) {
  const auto name = split_name(member.name);
  return name && field_name(name->extension) == "zip";
}

std::vector<Member> members_of(FileWindow& window, const Member& archive, NoticeLog& notices) {
  const File& file = window.file();
  if (archive.is_encrypted || archive.method != static_cast<std::uint16_t>(Method::stored)) {
    throw Error(ErrorCode::unsupported,
                fmt::format("archive in the archive: {} is {}", printable(archive.name),
                            archive.is_readable() ? "compressed once more" : archive.why_unreadable()),
                {.path = file.path(), .offset = archive.header, .hint = std::string(k_hint)});
  }
  std::vector<Member> members;
  NoticeLog own;
  try {
    members = read_directory(file, {.offset = data_offset(window, archive), .length = archive.stored_bytes}, own);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("archive in the archive: {}: {}", printable(archive.name), error.message()),
                {.path = file.path(),
                 .offset = error.context().offset,
                 .hint = std::string(k_hint),
                 .system_error = error.context().system_error});
  }
  notices.merge(own, archive.name);
  const std::string folder = fmt::format("{}/", split_name(archive.name)->stem);
  for (Member& member : members) member.name.insert(0, folder);
  return members;
}

}  // namespace

std::vector<Member> read_members(const File& file, NoticeLog& notices) {
  std::vector<Member> outer = read_directory(file, {.offset = 0, .length = file.size()}, notices);
  if (std::any_of(outer.begin(), outer.end(), is_image)) return outer;
  std::vector<Member> found;
  FileWindow window(file);
  for (Member& member : outer) {
    if (!is_archive(member)) {
      found.push_back(std::move(member));
      continue;
    }
    std::vector<Member> inner = members_of(window, member, notices);
    std::move(inner.begin(), inner.end(), std::back_inserter(found));
  }
  return found;
}

}  // namespace bale::zip
