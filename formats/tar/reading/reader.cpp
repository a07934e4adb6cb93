#include "bale/formats/tar/reading/reader.hpp"

#include <algorithm>
#include <array>

#include "bale/formats/base/error.hpp"
#include "bale/formats/container/reading/file_payload.hpp"
#include "bale/formats/container/streams/cached_stream.hpp"
#include "bale/formats/shard/partial_scan.hpp"
#include "bale/formats/tar/reading/grouper.hpp"
#include "bale/formats/tar/reading/libarchive_stream.hpp"
#include "bale/formats/tar/reading/scanner.hpp"
#include "bale/formats/tar/reading/stream.hpp"

namespace bale::tar {
namespace {

/// Throws a better error than "checksum does not match" for other archives that were renamed to .tar.
void refuse_other_containers(const Stream& stream, const std::string& path) {
  std::array<std::byte, 6> head{};
  stream.read_exact(0, MutableBytes(head).first(std::min<std::size_t>(head.size(), stream.size())));
  const std::string_view text = as_text(head);
  const bool zip = text.starts_with("PK\x03\x04") || text.starts_with("PK\x05\x06");
  const bool cpio = text.starts_with("07070") || text.starts_with("\xc7\x71") || text.starts_with("\x71\xc7");
  if (!zip && !cpio) return;
  throw Error(ErrorCode::unsupported, zip ? "a zip archive, not a tar" : "a cpio archive, not a tar",
              {.path = path, .hint = "unpack it and pack the folder"});
}

/// One pass over an archive with our own parser. False if only libarchive can read it; `index` is then incomplete.
bool look_at_stream(const Stream& stream, const std::string& path, IndexBuilder& index, Survey& survey) {
  Scanner scanner(stream, path, index.notices());
  Grouper grouper(index, path, survey);
  Member member;
  const auto set_label = [&](std::uint64_t sample, const Place& place) {
    const std::uint64_t length = std::min(place.size, Grouper::k_max_label_bytes);
    index.set_label_of(sample, scanner.view(place.offset, static_cast<std::size_t>(length)), length == place.size);
  };
  for (;;) {
    const Scanner::Step step = scanner.next(member);
    if (step == Scanner::Step::odd) return false;
    if (step == Scanner::Step::end) break;
    const Place place{.offset = member.offset, .size = member.size};
    switch (member.kind) {
      case Member::Kind::file:
        if (const auto sample = grouper.add(member.name, place)) set_label(*sample, place);
        break;
      case Member::Kind::hard_link:
        if (const auto label = grouper.add_link(member.name, member.target)) set_label(label->sample, label->place);
        break;
      case Member::Kind::other:
        index.notices().add(member.name, member.why);
        break;
    }
  }
  grouper.finish();
  return true;
}

bool scan_archive(const Stream& stream, const std::string& path, IndexBuilder& index) {
  Survey survey;
  if (!look_at_stream(stream, path, index, survey)) return false;
  if (!survey.wants_second_look()) return true;
  survey.begin_second_look();
  index = IndexBuilder();
  return look_at_stream(stream, path, index, survey);
}

/// Scans with our own parser. False if only libarchive can read the archive; `index` is then incomplete.
bool scan_stream(const Stream& stream, const std::string& path, IndexBuilder& index) {
  std::array<std::byte, k_block_bytes> first;
  const bool opens_like_tar = stream.size() >= first.size() && (stream.read_exact(0, first), has_good_checksum(first));
  if (!opens_like_tar) refuse_other_containers(stream, path);
  if (!scan_archive(stream, path, index)) return false;
  const auto scan_inner = [&](const Stream& inner, IndexBuilder& found) { return scan_archive(inner, path, found); };
  open_nested(stream, path, scan_inner, index);
  return true;
}

/// Scans through libarchive. Offsets are positions in the unpacked spill, not in the decompressed archive, `stream`.
void scan_odd(const Stream& stream, const std::string& path, IndexBuilder& index) {
  std::vector<Grouper::Label> labels;
  Survey survey = Survey::of_everything();
  Grouper grouper(index, path, survey);
  std::uint64_t end = 0;
  const auto unpacked = unpack_by_libarchive(
      path,
      [&](const Member& member) {
        switch (member.kind) {
          case Member::Kind::file: {
            const Place place{.offset = member.offset, .size = member.size};
            if (const auto sample = grouper.add(member.name, place)) labels.push_back({*sample, place});
            break;
          }
          case Member::Kind::hard_link:
            if (const auto label = grouper.add_link(member.name, member.target)) labels.push_back(*label);
            break;
          case Member::Kind::other:
            index.notices().add(member.name, member.why);
            break;
        }
      },
      &end);
  grouper.finish();
  for (const Grouper::Label& label : labels) {
    if (index.extent(label.sample, *index.field_id(k_label_field)).offset != label.place.offset) continue;  // replaced
    std::vector<std::byte> cls(static_cast<std::size_t>(std::min(label.place.size, Grouper::k_max_label_bytes)));
    unpacked->read_exact(label.place.offset, cls);
    index.set_label_of(label.sample, cls, cls.size() == label.place.size);
  }
  for (std::uint32_t f = 0; f < index.fields().size(); ++f) index.set_located(f, false);
  const std::uint64_t after = std::min(stream.size(), padded(end));
  if (const auto rest = rest_after_end(stream, after)) index.notices().add_rest(*rest, stream.size() - *rest);
}

}  // namespace

void scan(const std::string& path, IndexBuilder& index) {
  IndexBuilder found;
  std::unique_ptr<Stream> stream;
  bool is_ours = false;
  scan_or_salvage(found, [&] {
    stream = open_stream(path, compression_of_file(path));
    is_ours = scan_stream(*stream, path, found);
  });
  if (!is_ours) {
    found = IndexBuilder();
    scan_odd(*stream, path, found);
  }
  index = std::move(found);
}

std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index) {
  const auto is_odd = [](const FieldInfo& field) { return !field.located; };
  if (std::any_of(index.fields().begin(), index.fields().end(), is_odd)) {
    return make_stream_payload([path] { return unpack_by_libarchive(path); }, payload_bytes_of(index), false);
  }
  const Compression compression = compression_of_file(path);
  if (compression == Compression::none) return std::make_unique<FilePayload>(path);
  // With an index a field has a checksum that Shard compares.
  const FrameChecks checks = index.has_checksums() ? FrameChecks::compressed : FrameChecks::all;
  return make_stream_payload([path, compression, checks] { return open_stream(path, compression, checks); },
                             payload_bytes_of(index), compression == Compression::zstd);
}

}  // namespace bale::tar
