// The format's descriptor and its probe.
#include "bale/formats/shard/format.hpp"

#include "bale/formats/base/codec/array_header.hpp"
#include "bale/formats/npy/npy.hpp"

namespace bale {
namespace {

constexpr Sidecar k_sidecars[] = {{.suffix = npy::k_labels_suffix, .text = npy::labels_text}};

constexpr Layout k_layouts[] = {{.name = "rgb",
                                 .suffix = npy::k_suffix,
                                 .keeps_bytes = false,
                                 .keeps_keys_in_file = false,
                                 .keeps_all_fields = false,
                                 .summary = "N x H x W x 3 pixels that numpy maps; labels next to it; option size",
                                 .sidecars = k_sidecars}};

int probe(const ProbeInput& input) {
  if (as_text(input.head).starts_with(k_array_magic)) return 100;
  // If the first bytes are damaged, the file is claimed by its name, so that the error is of this format.
  return input.path.ends_with(npy::k_suffix) && input.file_bytes != 0 ? 20 : 0;
}

}  // namespace

extern const Format k_npy_format;
const Format k_npy_format{.name = "npy",
                          .layouts = k_layouts,
                          .probe = probe,
                          .scan = npy::scan,
                          .open = npy::open,
                          .create = npy::create,
                          .scan_survives_damage = true};

}  // namespace bale
