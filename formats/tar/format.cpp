// The format's descriptor, its probe, and the files next to plain shards that other readers of WebDataset need
// (FORMAT.md has their schemas). Each of these functions is named after the reader.
#include "bale/formats/shard/format.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/formats/tar/header/header.hpp"
#include "bale/formats/tar/reading/grouper.hpp"
#include "bale/formats/tar/reading/reader.hpp"
#include "bale/formats/tar/reading/scanner.hpp"
#include "bale/formats/tar/reading/stream.hpp"
#include "bale/formats/tar/writing/writer.hpp"

namespace bale::tar {
namespace {

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
    fmt::format_to(std::back_inserter(text), "{}{} {} {} {}", opens ? '\n' : ' ',
                   split_member_name(member.name)->extension, member.offset, member.size, member.name);
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

/// "x.tar", "x.tar.ANYTHING", "x.tgz" and the like.
bool is_named_tar(std::string_view path) {
  constexpr std::string_view k_short_suffixes[] = {".tar", ".tgz", ".tzst", ".tbz2", ".tbz", ".txz", ".tlz", ".taz"};
  const auto ends_path = [&](std::string_view suffix) { return path.ends_with(suffix); };
  if (std::any_of(std::begin(k_short_suffixes), std::end(k_short_suffixes), ends_path)) return true;
  return path.substr(0, path.rfind('.')).ends_with(".tar");
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
