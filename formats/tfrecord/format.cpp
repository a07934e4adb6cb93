// The format's descriptor, its probe, and the functions that walk all records.
#include "bale/formats/shard/format.hpp"

#include <iterator>

#include <fmt/format.h>

#include "bale/formats/shard/shard_name.hpp"
#include "bale/formats/tfrecord/names.hpp"
#include "bale/formats/tfrecord/record.hpp"
#include "bale/formats/tfrecord/tfrecord.hpp"

namespace bale {
namespace {

/// The offset and size of every record, including its frame, as DALI's and NVIDIA's tfrecord2idx write them.
std::string record_index(const std::string& path, const ShardIndex&) {
  const File file = File::open_read(path);
  FileWindow window(file);
  tfrecord::RecordWalk walk(window);
  tfrecord::Record record;
  std::string text;
  while (walk.next(record)) {
    fmt::format_to(std::back_inserter(text), "{} {}\n", record.offset, record.end() - record.offset);
  }
  return text;
}

void check(const std::string& path) {
  const File file = File::open_read(path);
  FileWindow window(file);
  tfrecord::RecordWalk walk(window);
  tfrecord::Record record;
  std::vector<std::byte> buffer;
  while (walk.next(record)) tfrecord::check_data(file, record, buffer);
}

constexpr Sidecar k_sidecars[] = {{.suffix = ".idx", .text = record_index, .name = "tfrecord"}};

constexpr Layout k_layouts[] = {{.name = "example",
                                 .suffix = "",
                                 .counted = true,
                                 .compresses_fields = true,
                                 .summary = "tf.train.Example under slim's names; option label-base",
                                 .sidecars = k_sidecars}};

int probe(const ProbeInput& input) {
  if (tfrecord::has_good_header(input.head)) return 90;
  // If the first header is damaged, the file is claimed by its name, so that the error is of this format.
  const std::string_view name = input.path.substr(input.path.rfind('/') + 1);
  const bool called_so = name.find(".tfrecord") != std::string_view::npos || has_shard_name(k_layouts[0], name);
  return called_so && input.file_bytes != 0 ? 20 : 0;
}

}  // namespace

extern const Format k_tfrecord_format;
const Format k_tfrecord_format{.name = "tfrecord",
                               .layouts = k_layouts,
                               .probe = probe,
                               .scan = tfrecord::scan,
                               .open = tfrecord::open,
                               .create = tfrecord::create,
                               .scan_survives_damage = true,
                               .check = check,
                               .field_rule = tfrecord::k_field_rule};

}  // namespace bale
