// The format's descriptor and its probe.
#include "bale/formats/shard/format.hpp"

#include <algorithm>
#include <array>

#include "bale/formats/tar/header/header.hpp"
#include "bale/formats/tar/reading/reader.hpp"
#include "bale/formats/tar/reading/stream.hpp"
#include "bale/formats/tar/writing/writer.hpp"

namespace bale {
namespace {

constexpr Sidecar k_sidecars[] = {
    {.suffix = ".idx", .text = tar::wds2idx_text, .name = "wds2idx", .always = false},
    {.suffix = ".tar.idx", .text = tar::energon_text, .name = "energon", .always = false},
};
constexpr ShardList k_lists[] = {
    {.name = "wids", .file = "shardindex.json", .text = tar::wids_text},
    {.name = "timm", .file = "_info.json", .text = tar::timm_text},
};

constexpr std::array k_layouts{
    Layout{.name = tar::k_plain_layout,
           .suffix = ".tar",
           .keys_name_files = true,
           .compresses_fields = true,
           .summary = "WebDataset shards, as they are: the fastest to write and to read",
           .sidecars = k_sidecars,
           .lists = k_lists},
    Layout{.name = tar::k_gzip_layout,
           .suffix = ".tar.gz",
           .keys_name_files = true,
           .compresses_fields = true,
           .summary = "gzip: for programs that read nothing else; inflated to disk before random access"},
    Layout{.name = tar::k_zstd_layout,
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
  if (tar::has_good_checksum(input.head)) return tar::has_ustar_magic(input.head) ? 100 : 80;
  if (!is_named_tar(input.path)) return 0;
  if (tar::compression_of_tar(input.head) != Compression::none) return 90;
  // Empty archives have no signature. A damaged archive is claimed by its name, so that the error is of this format.
  const bool no_members = input.head.size() >= 2 * tar::k_block_bytes && tar::is_zero_block(input.head);
  return no_members ? 60 : 20;
}

}  // namespace

extern const Format k_tar_format;
const Format k_tar_format{.name = "tar",
                          .layouts = k_layouts,
                          .probe = probe,
                          .scan = tar::scan,
                          .open = tar::open,
                          .create = tar::create,
                          .scan_survives_damage = true,
                          .field_rule = tar::k_field_rule};

}  // namespace bale
