#include "bale/formats/zip/zip.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/container/reading/file_payload.hpp"
#include "bale/formats/zip/directory.hpp"
#include "bale/formats/zip/member.hpp"

namespace bale::zip {
namespace {

/// Stored members are byte ranges of the file. With an index that has checksums they are read as such. Otherwise, and
/// for deflated members, the archive's directory is read once: it has their sizes and their CRC-32.
class MemberPayload final : public FilePayload {
 public:
  MemberPayload(const std::string& path, const ShardIndex& index) : FilePayload(path), index_(index) {}

  void read(std::uint64_t sample, std::uint32_t field, const Extent& extent, MutableBytes out) const override {
    if (is_range(field) && index_.has_checksums()) return FilePayload::read(sample, field, extent, out);
    const Member& member = member_at(extent.offset);
    if (!member.is_readable()) {
      throw Error(ErrorCode::unsupported, fmt::format("the member is {}", member.why_unreadable()),
                  {.path = file_.path(),
                   .key = std::string(index_.key(sample)),
                   .offset = member.header,
                   .hint = "unpack the archive, and pack the folder"});
    }
    read_member(file_, member, extent.offset, out);
  }

  std::optional<FileRange> locate(std::uint64_t, std::uint32_t field, const Extent& extent) const override {
    return FileRange{extent.offset, is_range(field) ? extent.length : member_at(extent.offset).stored_bytes};
  }

  bool is_plain() const override { return false; }

 private:
  bool is_range(std::uint32_t field) const { return index_.fields()[field].located; }

  /// The member whose data begins there: members do not overlap.
  const Member& member_at(std::uint64_t data) const {
    std::call_once(once_, [&] {
      NoticeLog known;  // the scan has reported them
      members_ = read_members(file_, known);
      for (Member& member : members_) member.name = {};
      std::sort(members_.begin(), members_.end(), [](const Member& a, const Member& b) { return a.header < b.header; });
    });
    const auto after =
        std::upper_bound(members_.begin(), members_.end(), data,
                         [](std::uint64_t offset, const Member& member) { return offset < member.header; });
    if (after == members_.begin() ||
        std::prev(after)->stored_bytes > index_.shard_bytes() - std::min(index_.shard_bytes(), data)) {
      throw Error(ErrorCode::damaged, "the archive says something else than its index",
                  {.path = file_.path(), .offset = data});
    }
    return *std::prev(after);
  }

  const ShardIndex& index_;
  mutable std::once_flag once_;
  mutable std::vector<Member> members_;  // sorted by offset, without names
};

}  // namespace

std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index) {
  const auto is_located = [](const FieldInfo& field) { return field.located; };
  const bool plain = std::all_of(index.fields().begin(), index.fields().end(), is_located);
  if (plain && index.has_checksums()) return std::make_unique<FilePayload>(path);
  return std::make_unique<MemberPayload>(path, index);
}

}  // namespace bale::zip
