// The format's descriptor and its probe.
#include "bale/formats/core/format.hpp"

#include <algorithm>
#include <array>

#include "bale/formats/tar/header.hpp"
#include "bale/formats/tar/reader.hpp"
#include "bale/formats/tar/sidecars.hpp"
#include "bale/formats/tar/stream.hpp"
#include "bale/formats/tar/writer.hpp"

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
           .summary = "seekable zstd frames of about 1 MiB: random access, for fields that compress"},
};

bool has_suffix(std::string_view path, std::initializer_list<std::string_view> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(), [&](std::string_view s) { return path.ends_with(s); });
}

int probe(const ProbeInput& input) {
  if (tar::has_good_checksum(input.head)) return tar::has_ustar_magic(input.head) ? 100 : 80;
  switch (tar::kind_of(input.head)) {
    case tar::FileKind::gzip:
      return has_suffix(input.path, {".tar.gz", ".tgz"}) ? 90 : 0;
    case tar::FileKind::zstd:
      return has_suffix(input.path, {".tar.zst", ".tzst"}) ? 90 : 0;
    case tar::FileKind::bzip2:
      return has_suffix(input.path, {".tar.bz2", ".tbz2", ".tbz"}) ? 90 : 0;
    case tar::FileKind::xz:
      return has_suffix(input.path, {".tar.xz", ".txz"}) ? 90 : 0;
    case tar::FileKind::plain:
      break;
  }
  if (!has_suffix(input.path, {".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst"})) return 0;
  // Without members there is no signature; with damage, say so in this format's terms.
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
                          .scan_survives_damage = true};

}  // namespace bale
