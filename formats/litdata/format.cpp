// The format's descriptor and its probe. bale only reads it.
#include "bale/formats/shard/format.hpp"
#include "bale/formats/base/codec/compression.hpp"

#include "bale/formats/container/streams/stream.hpp"
#include "bale/formats/litdata/litdata.hpp"

namespace bale {
namespace {

/// Only the name says that a plain chunk is one: its table has no magic number, and its configuration is elsewhere.
int probe(const ProbeInput& input) {
  if (as_text(input.head).starts_with(std::string_view("LDFZ01\0\0", 8))) return 100;
  const std::string_view name = input.path.substr(input.path.rfind('/') + 1);
  if (!name.starts_with("chunk-") || !name.ends_with(".bin") || input.file_bytes == 0) return 0;
  if (name.find(".zst") != std::string_view::npos && begins_like_zstd(input.head)) return 100;
  if (input.head.size() < 8) return 20;
  const std::uint64_t table_end = 4 * (std::uint64_t{load_at<std::uint32_t>(input.head.data())} + 2);
  return load_at<std::uint32_t>(input.head.data() + 4) == table_end && table_end <= input.file_bytes ? 90 : 20;
}

}  // namespace

extern const Format k_litdata_format;
// Without suffixes: other programs call their files *.bin, too. The chunks of a directory are those of its index.json.
const Format k_litdata_format{.name = "litdata",
                              .layouts = {},
                              .probe = probe,
                              .scan = litdata::scan,
                              .open = litdata::open,
                              .create = nullptr,
                              .scan_survives_damage = true,
                              .read_summary = "LitData's chunks (index.json, chunk-*.bin), plain or zstd",
                              .list = litdata::list_directory};

}  // namespace bale
