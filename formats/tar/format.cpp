// The format's descriptor, its probe, and the files next to plain shards that other readers of WebDataset need
// (FORMAT.md has their schemas). Each of these functions is named after the reader.
#include "bale/formats/shard/format.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/container/reading/file_payload.hpp"
#include "bale/formats/container/streams/cached_stream.hpp"
#include "bale/formats/shard/partial_scan.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/formats/tar/header/header.hpp"
#include "bale/formats/tar/reading/grouper.hpp"
#include "bale/formats/tar/reading/libarchive_stream.hpp"
#include "bale/formats/tar/reading/scanner.hpp"
#include "bale/formats/tar/reading/stream.hpp"
#include "bale/formats/tar/writing/writer.hpp"

namespace bale::tar {
namespace {

// scan() and open() of tar shards.

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

/// Names in files of other tools may not be UTF-8, but JSON must be.
std::string text_of(const Json& json) { return json.dump({.indent = 1, .replaces = true}) + "\n"; }

/// Calls `visit` for every file that belongs to a sample. `opens`: the file is the first of its sample. Returns the
/// offset of the archive's end marker.
std::uint64_t walk_samples(const std::string& path, const ShardIndex& index,
                           const std::function<void(const Member&, bool opens)>& visit) {
  if (compression_of_file(path) != Compression::none) {
    throw Error(ErrorCode::unsupported, "compressed: no reader of offsets can use any of it",
                {.path = path, .hint = "convert it to the plain layout"});
  }
  const auto stream = open_stream(path, Compression::none);
  NoticeLog notices;  // ignored: the scan has reported them
  Scanner scanner(*stream, path, notices);
  Member member;
  std::string last_key;
  bool any = false;
  std::uint64_t num_samples = 0;
  const auto refuse = [&](std::string_view what) {
    throw Error(ErrorCode::unsupported, fmt::format("{}: readers of offsets cannot use them", what),
                {.path = path, .hint = "convert it to the plain layout"});
  };
  for (;;) {
    const Scanner::Step step = scanner.next(member);
    if (step == Scanner::Step::end) {
      if (num_samples != index.size()) refuse("samples whose files are not next to each other");
      return scanner.end();
    }
    if (step == Scanner::Step::odd) refuse("sparse members or hard links with data");
    if (member.kind == Member::Kind::hard_link) refuse("hard links");
    if (member.kind != Member::Kind::file || !reason_to_skip(member.name).empty()) continue;
    const std::string_view key = split_member_name(member.name)->key;
    const bool opens = !any || key != last_key;
    visit(member, opens);
    num_samples += opens ? 1 : 0;
    last_key = key;
    any = true;
  }
}

/// DALI's: one line per sample, with extension, offset, size and name of every file. Throws `unsupported` for a name
/// with white space, because white space separates the columns.
std::string wds2idx_text(const std::string& path, const ShardIndex& index) {
  std::string text = fmt::format("v1.2 {}", index.size());
  walk_samples(path, index, [&](const Member& member, bool opens) {
    if (member.name.find_first_of(" \t\n\v\f\r") != std::string_view::npos) {
      throw Error(ErrorCode::unsupported, "name with white space, which the columns of wds2idx cannot hold",
                  {.path = path,
                   .key = std::string(member.name),
                   .offset = member.offset,
                   .hint = "leave wds2idx out of `sidecars`, or rename the file"});
    }
    text += fmt::format("{}{} {} {} {}", opens ? '\n' : ' ', split_member_name(member.name)->extension, member.offset,
                        member.size, member.name);
  });
  return text + '\n';
}

/// Megatron Energon's: the offset of every sample and the end of the last one, u64 each.
std::string energon_text(const std::string& path, const ShardIndex& index) {
  std::string text;
  const auto add = [&](std::uint64_t offset) { text.append(reinterpret_cast<const char*>(&offset), sizeof offset); };
  const std::uint64_t end = walk_samples(path, index, [&](const Member& member, bool opens) {
    if (opens) add(member.begin);
  });
  add(end);
  return text;
}

std::string wids_text(const std::string& dataset, std::span<const ListedShard> shards) {
  Json list = Json::array();
  for (const ListedShard& shard : shards) {
    list.push_back({{"url", shard.file}, {"nsamples", shard.num_samples}, {"filesize", shard.bytes}});
  }
  return text_of({{"__kind__", "wids-shard-index-v1"}, {"wids_version", 1}, {"name", dataset}, {"shardlist", list}});
}

std::string timm_text(const std::string& dataset, std::span<const ListedShard> shards) {
  Json files = Json::array();
  Json lengths = Json::array();
  std::uint64_t num_samples = 0;
  for (const ListedShard& shard : shards) {
    files.push_back(shard.file);
    lengths.push_back(shard.num_samples);
    num_samples += shard.num_samples;
  }
  const Json split{{"name", dataset}, {"filenames", files}, {"shard_lengths", lengths}, {"num_samples", num_samples}};
  return text_of({{"splits", {{dataset, split}}}});
}

constexpr Sidecar k_sidecars[] = {
    {.suffix = ".idx", .text = wds2idx_text, .name = "wds2idx", .always = false},
    {.suffix = ".tar.idx", .text = energon_text, .name = "energon", .always = false},
};
constexpr ShardList k_lists[] = {
    {.name = "wids", .file = "shardindex.json", .text = wids_text},
    {.name = "timm", .file = "_info.json", .text = timm_text},
};

constexpr std::array k_layouts{
    Layout{.name = k_plain_layout,
           .suffix = ".tar",
           .keys_name_files = true,
           .compresses_fields = true,
           .summary = "WebDataset shards, as they are: the fastest to write and to read",
           .sidecars = k_sidecars,
           .lists = k_lists},
    Layout{.name = k_gzip_layout,
           .suffix = ".tar.gz",
           .keys_name_files = true,
           .compresses_fields = true,
           .summary = "gzip: for programs that read nothing else; inflated to disk before random access"},
    Layout{.name = k_zstd_layout,
           .suffix = ".tar.zst",
           .keys_name_files = true,
           .compresses_fields = true,
           .summary = "seekable zstd frames: random access; fields that do not compress are stored"},
};

/// "x.tar", "x.tar.ANYTHING", "x.tgz" and the like, also in capital letters.
bool is_named_tar(std::string_view given) {
  const std::string path = lower_case(given);
  constexpr std::string_view k_short_suffixes[] = {".tar", ".tgz", ".tzst", ".tbz2", ".tbz", ".txz", ".tlz", ".taz"};
  const auto ends_path = [&](std::string_view suffix) { return path.ends_with(suffix); };
  if (std::any_of(std::begin(k_short_suffixes), std::end(k_short_suffixes), ends_path)) return true;
  return std::string_view(path).substr(0, path.rfind('.')).ends_with(".tar");
}

int probe(const ProbeInput& input) {
  if (has_good_checksum(input.head)) return has_ustar_magic(input.head) ? 100 : 80;
  if (!is_named_tar(input.path)) return 0;
  if (compression_of_tar(input.head) != Compression::none) return 90;
  // Empty archives have no signature. A damaged archive is claimed by its name, so that the error is of this format.
  const bool no_members = input.head.size() >= 2 * k_block_bytes && is_zero_block(input.head);
  return no_members ? 60 : 20;
}

}  // namespace

}  // namespace bale::tar

namespace bale {

extern const Format k_tar_format;
const Format k_tar_format{.name = "tar",
                          .layouts = tar::k_layouts,
                          .probe = tar::probe,
                          .scan = tar::scan,
                          .open = tar::open,
                          .create = tar::create,
                          .scan_survives_damage = true,
                          .field_rule = tar::k_field_rule};

}  // namespace bale
