// Reads archives of images. bale does not write them.
#include "bale/formats/shard/format.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>

#include "bale/formats/base/codec/compression.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/container/reading/file_payload.hpp"
#include "bale/formats/container/reading/scanned_fields.hpp"
#include "bale/formats/container/streams/file_window.hpp"
#include "bale/formats/shard/sample.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/formats/zip/directory.hpp"

namespace bale::zip {
namespace {

// The members of a ZIP archive, also of archives in it, and their bytes.

/// The parts of a file name, which borrow from it.
struct MemberName {
  std::string_view stem;       // with directories
  std::string_view extension;  // after the last dot
};

/// nullopt for directories, files without an extension, and hidden files, such as macOS's "__MACOSX/x/._y.jpg".
std::optional<MemberName> split_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos || dot <= base || path[base] == '.' || dot + 1 == path.size()) return std::nullopt;
  return MemberName{path.substr(0, dot), path.substr(dot + 1)};
}

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

/// Where the member's data begins. Throws `damaged` if its local header contradicts the directory.
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

/// Fills `out` with the member's content, whose stored bytes begin at `data`, and compares its CRC-32. Precondition:
/// the member is readable. Throws `damaged`, without a path.
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

/// The members of the archive, and notices as of read_directory(). If it has no images and archives `X.zip` instead,
/// their members, with `X/` before their names, replace these archives. Archives in these are not opened. Throws what
/// read_directory() throws, and `unsupported` for an archive in the archive that is not stored as it is.
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

class Scan {
 public:
  Scan(const File& file, IndexBuilder& index)
      : window_(file), index_(index), members_(read_members(file, index.notices())), budget_() {}

  void run() {
    forget_repeated();
    for (std::uint64_t i = 0; i < members_.size(); ++i) add_image(members_[i]);
    if (index_.size() == 0) {
      const auto file = std::find_if_not(members_.begin(), members_.end(), is_directory);
      const std::string such =
          file == members_.end() ? "" : fmt::format(": its members are such as {}", printable(file->name));
      const auto parts = file == members_.end() ? std::nullopt : split_member_name(file->name);
      const bool is_of_arrays = parts && parts->extension == k_array_field;  // numpy.savez()
      throw Error(
          ErrorCode::unsupported, "an archive without images" + such,
          {.path = window_.file().path(),
           .hint = is_of_arrays ? "in Python: `arrays = numpy.load(FILE)`, and `bale.pack(zip(arrays[\"images\"], "
                                  "arrays[\"labels\"]), DST)` with its own names"
                                : "bale reads archives of image files, and ZIP archives of these; unpack this one, "
                                  "and pack what is in it"});
    }
    for (const Member& member : members_) add_other(member);
    for (std::uint32_t field = 0; field < is_made_.size(); ++field) {
      index_.set_located(field, !is_made_[field]);
    }
  }

 private:
  /// If members share a name, the last one wins, as in every unzip program.
  void forget_repeated() {
    std::unordered_map<std::string_view, std::size_t> last;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const auto [at, is_new] = last.emplace(members_[i].name, i);
      if (is_new) continue;
      index_.notices().add(members_[at->second].name, "earlier member of a repeated name");
      repeated_.resize(members_.size());
      repeated_[at->second] = true;
      at->second = i;
    }
  }

  bool is_repeated(const Member& member) const {
    const auto at = static_cast<std::size_t>(&member - members_.data());
    return !repeated_.empty() && repeated_[at];
  }

  static bool is_directory(const Member& member) { return member.name.ends_with('/'); }

  void add_image(const Member& member) {
    const auto name = split_name(member.name);
    if (!name || is_repeated(member) || member.is_link) return;
    const std::string field = field_name(name->extension);
    if (!is_image_field(field)) return;
    const std::uint64_t sample = index_.add_sample(keys_.take(encode_key(name->stem), index_.size()));
    samples_.emplace(name->stem, sample);
    set_field(sample, field, member);
  }

  /// A file next to an image, with its name, is a field of it.
  void add_other(const Member& member) {
    if (is_directory(member) || is_repeated(member)) return;
    const auto leave_out = [&](std::string_view why) { index_.notices().add(member.name, why); };
    if (member.is_link) return leave_out("symbolic link");
    const auto name = split_name(member.name);
    const std::string field = name ? field_name(name->extension) : std::string();
    if (is_image_field(field)) return;
    if (!name) return leave_out("hidden file or file without an extension");
    const auto sample = samples_.find(name->stem);
    if (sample == samples_.end()) return leave_out("file that belongs to no image");
    if (!member.is_readable()) return leave_out(member.why_unreadable());
    const auto id = index_.stored_field_id(field);
    if (id && index_.extent(sample->second, *id).present()) return leave_out("file whose field another file has taken");
    set_field(sample->second, field, member);
  }

  void set_field(std::uint64_t sample, const std::string& field, const Member& member) {
    const std::string& path = window_.file().path();
    if (member.is_readable() && !budget_.take(member.stored_bytes, member.bytes)) {
      throw Error(
          ErrorCode::damaged,
          fmt::format(
              "member \"{}\" of {} bytes would expand to {}; ratios above {}:1 are rejected for outputs over {} bytes",
              printable(member.name), member.stored_bytes, member.bytes, k_max_inflation, k_inflation_allowance),
          {.path = path, .offset = member.header});
    }
    // What is not read needs no room: its size may be any.
    set_scanned_field(index_, sample, {.name = field}, data_offset(window_, member),
                      member.is_readable() ? member.bytes : member.stored_bytes,
                      {.path = path, .offset = member.header});
    const std::uint32_t id = *index_.stored_field_id(field);
    if (is_made_.size() <= id) is_made_.resize(id + 1);
    if (!member.is_readable() || member.method != static_cast<std::uint16_t>(Method::stored)) {
      is_made_[id] = true;
    } else if (member.bytes != member.stored_bytes) {
      throw Error(ErrorCode::damaged, fmt::format("member \"{}\" has two sizes", printable(member.name)),
                  {.path = path, .offset = member.header});
    }
  }

  FileWindow window_;
  IndexBuilder& index_;
  const std::vector<Member> members_;
  std::vector<bool> repeated_;  // empty if none is
  InflationBudget budget_;      // of the whole archive
  ForeignKeys keys_;
  std::unordered_map<std::string_view, std::uint64_t> samples_;  // by stem; the first of images with one stem
  std::vector<bool> is_made_;                                    // by field: some of it is not a byte range of the file
};

/// An image that is encrypted, or compressed by a method that bale does not read, is a sample that cannot be read.
void scan(const std::string& path, IndexBuilder& index) {
  const File file = File::open_read(path);
  Scan(file, index).run();
}

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

  /// The member whose data begins there: members do not overlap, and that of an empty file ends where the next begins.
  const Member& member_at(std::uint64_t data) const {
    std::call_once(once_, [&] {
      NoticeLog known;  // the scan has reported them
      members_ = read_members(file_, known);
      for (Member& member : members_) member.name = {};
      std::sort(members_.begin(), members_.end(), [](const Member& a, const Member& b) { return a.header < b.header; });
    });
    const auto after =
        std::upper_bound(members_.begin(), members_.end(), data,
                         [](std::uint64_t offset, const Member& member) { return offset <= member.header; });
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

std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index) {
  if (index.has_checksums() && all_are_located(index)) return std::make_unique<FilePayload>(path);
  return std::make_unique<MemberPayload>(path, index);
}

int probe(const ProbeInput& input) {
  if (as_text(input.head).starts_with(std::string_view("PK\3\4", 4))) return 90;
  // If the first bytes are damaged, or a program is in front of the archive, it is claimed by its name.
  return lower_case(input.path).ends_with(".zip") && input.file_bytes != 0 ? 20 : 0;
}

}  // namespace
}  // namespace bale::zip

namespace bale {

extern const Format k_zip_format;
// Without suffixes: an archive next to shards of another format is not one of them. In a directory of archives alone
// they are recognized by content.
const Format k_zip_format{.name = "zip",
                          .layouts = {},
                          .probe = zip::probe,
                          .scan = zip::scan,
                          .open = zip::open,
                          .create = nullptr,
                          .scan_survives_damage = true,
                          .read_summary = "archives of image files (X.zip), stored or deflated, ZIP64"};

}  // namespace bale
