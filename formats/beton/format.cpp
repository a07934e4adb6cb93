// The format's descriptor and its probe. bale only reads it.
#include "bale/formats/shard/format.hpp"

#include "bale/formats/beton/beton.hpp"
#include "bale/formats/beton/header.hpp"

namespace bale {
namespace {

constexpr std::string_view k_suffixes[] = {".beton"};

/// There is no magic number: a header and a first field as FFCV writes them. A damaged file is claimed by its name, so
/// that the error is of this format.
int probe(const ProbeInput& input) {
  if (beton::looks_like_beton(input.head, input.file_bytes)) return 90;
  return input.path.ends_with(k_suffixes[0]) && input.file_bytes != 0 ? 20 : 0;
}

}  // namespace

extern const Format k_beton_format;
const Format k_beton_format{.name = "beton",
                            .layouts = {},
                            .probe = probe,
                            .scan = beton::scan,
                            .open = beton::open,
                            .create = nullptr,
                            .scan_survives_damage = true,
                            .read_suffixes = k_suffixes,
                            .read_summary = "FFCV's files (version 2), images as JPEGs or pixels"};

}  // namespace bale
