// The format's descriptor and its probe. bale only reads it.
#include "bale/formats/shard/format.hpp"
#include "bale/formats/base/codec/compression.hpp"

#include "bale/formats/mds/compression.hpp"
#include "bale/formats/mds/mds.hpp"

namespace bale {
namespace {

constexpr std::string_view k_suffixes[] = {".mds"};

/// There is no magic number: the first sample begins after the table of offsets, and the configuration between them is
/// JSON with its members in alphabetic order.
int probe(const ProbeInput& input) {
  constexpr std::string_view k_config_start = "{\"column_encodings\"";
  if (input.head.size() >= 8) {
    const std::uint64_t table_end = 4 * (std::uint64_t{load_at<std::uint32_t>(input.head.data())} + 2);
    const std::uint64_t first = load_at<std::uint32_t>(input.head.data() + 4);
    if (first > table_end && first <= input.file_bytes && table_end < input.head.size() &&
        as_text(input.head).substr(static_cast<std::size_t>(table_end)).starts_with(k_config_start)) {
      return 100;
    }
  }
  const std::string_view compression = mds::compression_in_name(input.path);
  if (compression.starts_with("zst") && begins_like_zstd(input.head)) return 100;
  if (!compression.empty()) return input.file_bytes != 0 ? 20 : 0;
  // With many samples the configuration is not in the head; and a damaged file is claimed by its name, so that the
  // error is of this format.
  return input.path.ends_with(k_suffixes[0]) && input.file_bytes != 0 ? 20 : 0;
}

}  // namespace

extern const Format k_mds_format;
const Format k_mds_format{
    .name = "mds",
    .layouts = {},
    .probe = probe,
    .scan = mds::scan,
    .open = mds::open,
    .create = nullptr,
    .scan_survives_damage = true,
    .read_suffixes = k_suffixes,
    .read_summary = "MosaicML Streaming's shards (MDS version 2), plain or zstd; in Python bale.to_mds() writes them",
    .list = mds::list_directory,
    .classes = mds::listed_classes};

}  // namespace bale
