#include "bale/formats/registry/registry.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/codec/compression.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/file_stamp.hpp"
#include "bale/formats/image/image_check.hpp"
#include "bale/formats/shard/current_index.hpp"
#include "bale/formats/shard/layer.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/formats/storage/schemes.hpp"

namespace bale {
namespace {

/// Every program that reads shards links this file, so it knows the schemes before its main() begins.
[[maybe_unused]] const bool g_has_schemes = (add_schemes(), true);

std::string written_formats() {
  std::string known;
  for (const Format* format : formats()) {
    if (!format->layouts.empty()) known += fmt::format("{}{}", known.empty() ? "" : ", ", format->name);
  }
  return known;
}

/// nullptr if no format claims the file.
const Format* highest_bid(const ProbeInput& input) {
  const Format* best = nullptr;
  int best_bid = 0;
  for (const Format* format : formats()) {
    const int bid = format->probe(input);
    if (bid > best_bid) {
      best = format;
      best_bid = bid;
    }
  }
  return best;
}

/// Tables of images are read by the Python package, with pyarrow.
void refuse_table(const std::string& path, Bytes head) {
  const std::string_view text = as_text(head);
  const bool is_parquet = text.starts_with("PAR1");
  if (!is_parquet && !text.starts_with("ARROW1") && !path.ends_with(".arrow")) return;
  throw Error(ErrorCode::unsupported,
              fmt::format("a{} file, which only the Python package reads", is_parquet ? " Parquet" : "n Arrow"),
              {.path = path,
               .hint = fmt::format("install pyarrow, and in Python: bale.pack(\"{}\", \"packed\")", printable(path))});
}

/// What is in a file's place if it was not fetched. Formats would claim it by the file's name.
void refuse_placeholder(const std::string& path, Bytes head) {
  const std::string_view kind = name_by_signature(head);
  if (kind == k_lfs_pointer)
    throw Error(ErrorCode::damaged, "a Git LFS pointer, not the file itself", {.path = path, .hint = k_lfs_hint});
  if (kind != "HTML" && kind != "XML") return;
  throw Error(ErrorCode::damaged, kind == "HTML" ? "an HTML page, and no shard" : "an XML text, and no shard",
              {.path = path, .hint = "if it was downloaded, that failed: download it again"});
}

}  // namespace

FormatAndLayout default_format() {
  const Format* const first = formats().front();
  return {first, first->layouts.empty() ? nullptr : &first->layouts.front()};
}

std::string absent_formats_hint() {
  if (absent_formats().empty()) return {};
  std::string present;
  for (const Format* format : formats()) present += fmt::format("{}{}", present.empty() ? "" : ", ", format->name);
  return fmt::format("this build of bale has only {}: configure it with more in -DBALE_FORMATS, or without it",
                     present);
}

void require_format(std::string_view name, const std::string& path) {
  const auto absent = absent_formats();
  if (std::find(absent.begin(), absent.end(), name) == absent.end()) return;
  throw Error(ErrorCode::unsupported, fmt::format("a dataset of {}", name),
              {.path = path, .hint = absent_formats_hint()});
}

FormatAndLayout find_format(std::string_view name, std::string_view layout) {
  for (const Format* format : formats()) {
    std::string_view wanted = layout;
    if (name != format->name) {
      const bool prefixed =
          name.size() > format->name.size() && name.starts_with(format->name) && name[format->name.size()] == '.';
      if (!prefixed) continue;
      wanted = name.substr(format->name.size() + 1);
      if (!layout.empty() && layout != wanted) {
        throw Error(ErrorCode::invalid_argument, fmt::format("format {} contradicts layout {}", name, layout));
      }
    }
    if (format->layouts.empty()) {
      throw Error(ErrorCode::invalid_argument, fmt::format("bale reads {} and does not write it", format->name),
                  {.hint = fmt::format("choose one of: {}", written_formats())});
    }
    if (wanted.empty()) return {format, &format->layouts.front()};
    std::string known;
    for (const Layout& candidate : format->layouts) {
      if (candidate.name == wanted) return {format, &candidate};
      known += fmt::format("{}{}", known.empty() ? "" : ", ", candidate.name);
    }
    throw Error(ErrorCode::invalid_argument,
                fmt::format("format {} has no layout \"{}\"", format->name, printable(wanted)),
                {.hint = fmt::format("choose one of: {}", known)});
  }
  throw Error(ErrorCode::invalid_argument, fmt::format("unknown format \"{}\"", printable(name)),
              {.hint = fmt::format("choose one of: {}{}{}", written_formats(), absent_formats().empty() ? "" : "; ",
                                   absent_formats_hint())});
}

FormatAndLayout find_decoded_format(std::string_view name, std::string_view layout) {
  const FormatAndLayout found = find_format(name, layout);
  if (!found.layout->keeps_bytes) return found;
  const bool chosen = !layout.empty() || name != found.format->name;
  std::string known;
  for (const Format* format : formats()) {
    for (const Layout& candidate : format->layouts) {
      if (candidate.keeps_bytes) continue;
      if (format == found.format && !chosen) return {format, &candidate};
      known += fmt::format("{}{}.{}", known.empty() ? "" : ", ", format->name, candidate.name);
    }
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}.{} does not hold pixels", found.format->name, found.layout->name),
              {.hint = fmt::format("choose one of: {}", known)});
}

const Format& probe_format(const std::string& path) {
  const File file = File::open_read(path);
  std::vector<std::byte> head(4096);
  head.resize(file.read_some(0, head));
  refuse_placeholder(path, head);
  ProbeInput input{.path = path, .head = head, .file_bytes = file.size()};
  const Format* best = highest_bid(input);
  if (best == nullptr) {
    refuse_table(path, head);
    input.file = &file;
    best = highest_bid(input);
  }
  if (best == nullptr) {
    refuse_compressed(path, head);
    throw Error(ErrorCode::unsupported, "no format recognizes this file",
                {.path = path,
                 .hint = is_image_name(path) ? "its name is that of an image: give its folder, or a list of images"
                         : path.ends_with(".json")  ? "a table of images in JSON has one object per line: NAME.jsonl"
                         : absent_formats().empty() ? "is it a packed shard?"
                                                    : absent_formats_hint()});
  }
  return *best;
}

namespace {

/// "No format recognizes it" is damage of a file that is known to be a shard, because it has an index.
const Format& format_of_shard(const std::string& path) try { return probe_format(path); } catch (const Error& error) {
  if (error.code() != ErrorCode::unsupported || !absent_formats().empty() || !path_exists(index_path(path))) throw;
  throw Error(ErrorCode::damaged, error.message(),
              {.path = path, .hint = "copy it again: its index says that it is a shard"});
}

}  // namespace

ShardIndex amended_index(ShardIndex index, const std::string& path, const ShardOpenOptions& options) {
  if (!options.layers || options.layers->empty()) return index;
  std::string digest = options.digest;
  if (digest.empty() && index.digest()) digest = digest_text(*index.digest());
  return options.layers->amend(std::move(index), digest, path);
}

Shard open_shard(const std::string& path, const ShardOpenOptions& options) {
  const FileStamp before = FileStamp::of(path);
  const Format& format = format_of_shard(path);
  const std::string beside = index_path(path);
  const bool has_index = path_exists(beside);
  ShardIndex index = has_index ? ShardIndex::load(beside) : scan_or_remember(path, format);
  if (has_index && options.check_stale) index.set_notices(check_index_is_current(path, format, index));
  index = amended_index(std::move(index), path, options);
  if (options.index_memory) index.keep_in(options.index_memory);
  Shard shard = Shard::open(path, format, std::move(index), options);
  if (has_index && shard.identity().file != before)
    throw Error(changed_error(path));  // the index may be that of the file before
  return shard;
}

std::optional<ShardIndex> current_index(const std::string& path) {
  if (!path_exists(index_path(path))) return std::nullopt;
  ShardIndex index = ShardIndex::load(index_path(path));
  if (File::open_read(path).size() != index.shard_bytes()) return std::nullopt;
  try {
    check_index_is_current(path, probe_format(path), index);
    return index;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::changed) throw;
    return std::nullopt;
  }
}

}  // namespace bale
