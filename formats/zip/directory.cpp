#include "bale/formats/zip/directory.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"

namespace bale::zip {
namespace {

constexpr std::string_view k_end_magic{"PK\5\6", 4};
constexpr std::string_view k_end64_magic{"PK\6\6", 4};
constexpr std::string_view k_locator_magic{"PK\6\7", 4};
constexpr std::string_view k_member_magic{"PK\1\2", 4};
constexpr std::uint64_t k_end_bytes = 22;
constexpr std::uint64_t k_end64_bytes = 56;
constexpr std::uint64_t k_locator_bytes = 20;
constexpr std::uint64_t k_member_bytes = 46;
constexpr std::uint32_t k_in_zip64 = std::numeric_limits<std::uint32_t>::max();

template <typename Number>
Number at(Bytes bytes, std::size_t offset) {
  return load_at<Number>(bytes.data() + offset);
}

/// Where the directory is.
struct End {
  std::uint64_t directory = 0;  // offset as the archive says it
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  std::uint64_t end = 0;  // offset of what follows the directory
};

/// Names of methods in PKWARE's APPNOTE.TXT 6.3, 4.4.5. Empty for the rest.
std::string_view name_of_method(std::uint16_t method) {
  switch (method) {
    case 1:
      return "Shrink";
    case 6:
      return "Implode";
    case 9:
      return "Deflate64";
    case 12:
      return "BZIP2";
    case 14:
      return "LZMA";
    case 20:
    case 93:
      return "Zstandard";
    case 95:
      return "XZ";
    case 98:
      return "PPMd";
    default:
      return {};
  }
}

/// The upper half of the attributes is the file's mode if the maker is Unix (3) or macOS (19).
bool is_symbolic_link(Bytes entry) {
  constexpr std::uint32_t k_type_bits = 0170000;
  constexpr std::uint32_t k_link = 0120000;
  const auto maker = std::to_integer<int>(entry[5]);
  return (maker == 3 || maker == 19) && (at<std::uint32_t>(entry, 38) >> 16U & k_type_bits) == k_link;
}

class Reader {
 public:
  Reader(const File& file, const FileRange& range, NoticeLog& notices)
      : file_(file), notices_(notices), begin_(range.offset), bytes_(range.length) {}

  std::vector<Member> run() {
    const End end = find_end();
    if (end.bytes > end.end || end.directory > end.end - end.bytes) {
      fail(end.end, "the central directory goes beyond its end");
    }
    // Bytes before an archive, as of a program that unpacks itself, shift everything.
    shift_ = end.end - end.bytes - end.directory;
    if (rest_ != 0) notices_.add_rest(begin_ + bytes_ - rest_, rest_);
    note_archive_before();
    directory_.resize(static_cast<std::size_t>(end.bytes));
    start_ = end.end - end.bytes;
    read(start_, directory_);
    if (end.count > end.bytes / k_member_bytes) fail(start_, "more members than its central directory has room for");
    std::vector<Member> members;
    members.reserve(static_cast<std::size_t>(end.count));
    for (std::uint64_t i = 0; i < end.count; ++i) members.push_back(take_member());
    if (at_ != directory_.size()) fail(start_ + at_, "bytes after the last member of the central directory");
    refuse_overlaps(members);
    settle_separators(members);
    for (Member& member : members) member.header += begin_;
    return members;
  }

 private:
  [[noreturn]] void fail(std::uint64_t offset, std::string_view what) const {
    throw Error(ErrorCode::damaged, what, {.path = file_.path(), .offset = begin_ + offset, .hint = "copy it again"});
  }
  void read(std::uint64_t offset, MutableBytes out) const { file_.read_exact(begin_ + offset, out); }

  /// As `cat 1.zip 2.zip` makes it.
  void note_archive_before() const {
    std::byte head[4];
    if (shift_ < sizeof head) return;
    read(0, head);
    if (as_text(Bytes(head)) != std::string_view("PK\3\4", 4)) return;
    notices_.add(fmt::format("{} bytes at offset {}", shift_, begin_), "another archive before the last one");
  }

  [[noreturn]] void fail_without_end() const {
    fail(bytes_, "no end of a central directory: the archive is cut short");
  }

  /// The end record is followed by a comment of up to 64 KiB - 1, and perhaps by bytes that do not belong to the
  /// archive: the rest, for which a record counts only if none says that it is at the end.
  End find_end() {
    constexpr std::uint64_t k_most = std::uint64_t{4} << 20;  // of comment and rest
    const std::uint64_t tail_bytes = std::min(bytes_, k_end_bytes + k_most);
    std::vector<std::byte> tail(static_cast<std::size_t>(tail_bytes));
    read(bytes_ - tail_bytes, tail);
    const std::string_view text = as_text(tail);
    std::size_t best = std::string_view::npos;
    for (std::size_t found = text.rfind(k_end_magic); found != std::string_view::npos;
         found = found == 0 ? std::string_view::npos : text.rfind(k_end_magic, found - 1)) {
      if (tail.size() - found < k_end_bytes) continue;
      const Bytes record = Bytes(tail).subspan(found);
      const std::size_t comment = at<std::uint16_t>(record, 20);
      if (comment > record.size() - k_end_bytes) continue;
      const std::uint64_t rest = record.size() - k_end_bytes - comment;
      if (rest != 0 && (best != std::string_view::npos || !ends_whole_archive(record, bytes_ - tail_bytes + found)))
        continue;
      best = found;
      rest_ = rest;
      if (rest == 0) break;
    }
    if (best == std::string_view::npos) fail_without_end();
    return parse_end(Bytes(tail).subspan(best), bytes_ - tail_bytes + best);
  }

  /// Whether the record is of an archive that begins where the range does. That of an archive in an archive is not.
  bool ends_whole_archive(Bytes record, std::uint64_t offset) const {
    try {
      const End end = parse_end(record, offset);
      return end.bytes <= end.end && end.directory == end.end - end.bytes;
    } catch (const Error& error) {
      if (is_lack_of_resources(error)) throw;
      return false;
    }
  }

  End parse_end(Bytes record, std::uint64_t offset) const {
    const auto disk = at<std::uint16_t>(record, 4);
    End end{.directory = at<std::uint32_t>(record, 16),
            .bytes = at<std::uint32_t>(record, 12),
            .count = at<std::uint16_t>(record, 10),
            .end = offset};
    if (offset >= k_locator_bytes) {
      std::byte locator[k_locator_bytes];
      read(offset - k_locator_bytes, locator);
      if (as_text(Bytes(locator)).starts_with(k_locator_magic)) return parse_end64(Bytes(locator), offset);
    }
    if (disk != 0 && disk != std::numeric_limits<std::uint16_t>::max()) refuse_several_files();
    return end;
  }

  /// The record is where the locator says, or right before it if bytes were put in front of the archive.
  End parse_end64(Bytes locator, std::uint64_t offset) const {
    const std::uint64_t before = offset - k_locator_bytes;
    if (before < k_end64_bytes) fail(before, "no ZIP64 end record");
    if (at<std::uint32_t>(locator, 16) > 1) refuse_several_files();
    std::byte record[k_end64_bytes];
    for (const std::uint64_t place : {at<std::uint64_t>(locator, 8), before - k_end64_bytes}) {
      if (place > before - k_end64_bytes) continue;
      read(place, record);
      if (!as_text(Bytes(record)).starts_with(k_end64_magic)) continue;
      return {.directory = at<std::uint64_t>(record, 48),
              .bytes = at<std::uint64_t>(record, 40),
              .count = at<std::uint64_t>(record, 32),
              .end = place};
    }
    fail(before, "no ZIP64 end record");
  }

  [[noreturn]] void refuse_several_files() const {
    throw Error(ErrorCode::unsupported, "an archive of several files",
                {.path = file_.path(), .hint = "join them first: `zip -s 0 IN.zip --out OUT.zip`"});
  }

  Member take_member() {
    const std::uint64_t offset = start_ + at_;
    const Bytes rest = Bytes(directory_).subspan(static_cast<std::size_t>(at_));
    if (rest.size() < k_member_bytes || !as_text(rest).starts_with(k_member_magic)) {
      fail(offset, "malformed entry of the central directory");
    }
    const std::size_t name = at<std::uint16_t>(rest, 28);
    const std::size_t extra = at<std::uint16_t>(rest, 30);
    const std::size_t comment = at<std::uint16_t>(rest, 32);
    if (rest.size() - k_member_bytes < name + extra + comment) fail(offset, "a member goes beyond the directory");
    Member member{.name = std::string(as_text(rest.subspan(k_member_bytes, name))),
                  .own_name_bytes = static_cast<std::uint16_t>(name),
                  .header = at<std::uint32_t>(rest, 42),
                  .stored_bytes = at<std::uint32_t>(rest, 20),
                  .bytes = at<std::uint32_t>(rest, 24),
                  .crc32 = at<std::uint32_t>(rest, 16),
                  .method = at<std::uint16_t>(rest, 10),
                  .is_encrypted = (at<std::uint16_t>(rest, 8) & 1U) != 0,
                  .is_of_windows = std::to_integer<int>(rest[5]) == 0,
                  .is_link = is_symbolic_link(rest)};
    take_zip64(member, rest.subspan(k_member_bytes + name, extra), offset);
    at_ += k_member_bytes + name + extra + comment;
    const std::uint64_t least = k_local_header_bytes + name;
    if (member.header > start_ - std::min(start_, shift_) || start_ - shift_ - member.header < least ||
        member.stored_bytes > start_ - shift_ - member.header - least) {
      fail(offset, "a member lies outside the archive");
    }
    member.header += shift_;
    return member;
  }

  /// The 64-bit numbers stand in the extra field in this order, each only if its 32-bit one is all ones.
  void take_zip64(Member& member, Bytes extra, std::uint64_t offset) const {
    constexpr std::uint16_t k_zip64_id = 1;
    std::uint64_t* const wanted[] = {&member.bytes, &member.stored_bytes, &member.header};
    const bool has_any =
        std::any_of(std::begin(wanted), std::end(wanted), [](const auto* n) { return *n == k_in_zip64; });
    while (has_any && extra.size() >= 4) {
      const std::size_t bytes = at<std::uint16_t>(extra, 2);
      if (bytes > extra.size() - 4) break;
      Bytes numbers = extra.subspan(4, bytes);
      if (at<std::uint16_t>(extra, 0) == k_zip64_id) {
        for (std::uint64_t* const number : wanted) {
          if (*number != k_in_zip64) continue;
          if (numbers.size() < 8) fail(offset, "a ZIP64 field is too short");
          *number = at<std::uint64_t>(numbers, 0);
          numbers = numbers.subspan(8);
        }
        return;
      }
      extra = extra.subspan(4 + bytes);
    }
    if (has_any) fail(offset, "no ZIP64 field");
  }

  /// Members that share bytes are how small archives become arbitrarily large.
  void refuse_overlaps(const std::vector<Member>& members) const {
    std::vector<const Member*> order;
    order.reserve(members.size());
    for (const Member& member : members) order.push_back(&member);
    std::sort(order.begin(), order.end(), [](const Member* a, const Member* b) { return a->header < b->header; });
    for (std::size_t i = 0; i + 1 < order.size(); ++i) {
      const Member& member = *order[i];
      if (order[i + 1]->header - member.header < k_local_header_bytes + member.name.size() + member.stored_bytes) {
        fail(order[i + 1]->header,
             fmt::format("member \"{}\" overlaps the one before it", printable(order[i + 1]->name)));
      }
    }
  }

  /// .NET and PowerShell wrote backslashes between folders. They are not part of names if the maker says Windows, or if
  /// no member has a slash.
  void settle_separators(std::vector<Member>& members) {
    const auto has = [](const Member& member, char c) { return member.name.find(c) != std::string::npos; };
    const bool none_has_slash =
        std::none_of(members.begin(), members.end(), [&](const Member& member) { return has(member, '/'); });
    bool any = false;
    for (Member& member : members) {
      if (has(member, '/') || !has(member, '\\') || !(member.is_of_windows || none_has_slash)) continue;
      std::replace(member.name.begin(), member.name.end(), '\\', '/');
      any = true;
    }
    if (any) notices_.warn("names have backslashes between folders, as Windows writes them; they are read as slashes");
  }

  const File& file_;
  NoticeLog& notices_;
  const std::uint64_t begin_;  // of the archive in the file; all other offsets are from there
  const std::uint64_t bytes_;
  std::vector<std::byte> directory_;
  std::uint64_t start_ = 0;  // of the directory
  std::uint64_t shift_ = 0;
  std::uint64_t rest_ = 0;  // bytes after the archive
  std::uint64_t at_ = 0;
};

}  // namespace

std::string Member::why_unreadable() const {
  constexpr std::uint16_t k_aes = 99;
  if (is_encrypted || method == k_aes) return "encrypted";
  const std::string_view called = name_of_method(method);
  return called.empty() ? fmt::format("compressed by method {}, which bale does not read", method)
                        : fmt::format("compressed by {} (method {}), which bale does not read", called, method);
}

std::vector<Member> read_directory(const File& file, const FileRange& range, NoticeLog& notices) {
  return Reader(file, range, notices).run();
}

}  // namespace bale::zip
