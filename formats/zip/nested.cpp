#include "bale/formats/zip/directory.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/container/streams/file_window.hpp"
#include "bale/formats/shard/key.hpp"
#include "bale/formats/zip/member.hpp"

namespace bale::zip {
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
