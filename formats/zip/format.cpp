// The format's descriptor and its probe. bale only reads it.
#include "bale/formats/shard/format.hpp"

#include "bale/formats/zip/zip.hpp"

namespace bale {
namespace {

int probe(const ProbeInput& input) {
  if (as_text(input.head).starts_with(std::string_view("PK\3\4", 4))) return 90;
  // If the first bytes are damaged, or a program is in front of the archive, it is claimed by its name.
  return input.path.ends_with(".zip") && input.file_bytes != 0 ? 20 : 0;
}

}  // namespace

extern const Format k_zip_format;
// Without suffixes: an archive next to shards of another format is not one of them. In a directory of archives alone
// they are recognized by content.
const Format k_zip_format{.name = "zip",
                          .layouts = {},
                          .probe = probe,
                          .scan = zip::scan,
                          .open = zip::open,
                          .create = nullptr,
                          .scan_survives_damage = true,
                          .read_summary = "archives of image files (X.zip), stored or deflated, ZIP64"};

}  // namespace bale
