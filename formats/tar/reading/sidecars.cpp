#include "bale/formats/tar/reading/reader.hpp"

#include <functional>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/shard/key.hpp"
#include "bale/formats/tar/reading/grouper.hpp"
#include "bale/formats/tar/reading/scanner.hpp"

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

}  // namespace

std::string wds2idx_text(const std::string& path, const ShardIndex& index) {
  std::string text = fmt::format("v1.2 {}", index.size());
  walk_samples(path, index, [&](const Member& member, bool opens) {
    if (member.name.find_first_of(" \t\n\v\f\r") != std::string_view::npos) {
      throw Error(ErrorCode::unsupported, "name with white space, which the columns of wds2idx cannot hold",
                  {.path = path, .key = std::string(member.name), .offset = member.offset});
    }
    fmt::format_to(std::back_inserter(text), "{}{} {} {} {}", opens ? '\n' : ' ',
                   split_member_name(member.name)->extension, member.offset, member.size, member.name);
  });
  return text + '\n';
}

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

}  // namespace bale::tar
