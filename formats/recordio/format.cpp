// The format's descriptor, its probe, and the files that im2rec writes next to a shard.
#include "bale/formats/shard/format.hpp"

#include <iterator>

#include <fmt/format.h>

#include "bale/formats/recordio/image_list.hpp"
#include "bale/formats/recordio/image_record.hpp"
#include "bale/formats/recordio/record.hpp"
#include "bale/formats/recordio/recordio.hpp"

namespace bale {
namespace {

/// A text with one line per record, made from its header.
template <typename Line>
std::string text_of_records(const std::string& path, Line line) {
  const File file = File::open_read(path);
  FileWindow window(file);
  recordio::RecordWalk walk(window);
  recordio::Record record;
  std::string text;
  while (walk.next(record)) text += line(record, recordio::read_header(window, record));
  return text;
}

/// MXIndexedRecordIO's index: number and offset of every record.
std::string record_index(const std::string& path, const ShardIndex&) {
  return text_of_records(path, [](const recordio::Record& record, const recordio::IrHeader& header) {
    return fmt::format("{}\t{}\n", header.id, record.offset);
  });
}

std::string image_list(const std::string& path, const ShardIndex& index) {
  return text_of_records(path, [&](const recordio::Record& record, const recordio::IrHeader& header) {
    const auto image = record.number < index.size() ? index.image_field(record.number) : std::nullopt;
    if (!image) recordio::fail_record(path, record, "its index knows no image");
    return recordio::list_line(header, index.key(record.number), index.fields()[*image].name);
  });
}

constexpr Sidecar k_sidecars[] = {{.suffix = ".idx", .text = record_index}, {.suffix = ".lst", .text = image_list}};

constexpr Layout k_layouts[] = {{.name = "image",
                                 .suffix = ".rec",
                                 .keeps_keys_in_file = false,
                                 .keys_name_files = true,
                                 .compresses_fields = true,
                                 .summary = "MXNet's image records, with .idx and .lst as im2rec makes them",
                                 .sidecars = k_sidecars}};

int probe(const ProbeInput& input) {
  if (recordio::begins_like_record(input.head)) return 100;
  // If the first header is damaged, the file is claimed by its name, so that the error is of this format.
  return input.path.ends_with(k_layouts[0].suffix) && input.file_bytes != 0 ? 20 : 0;
}

}  // namespace

extern const Format k_recordio_format;
const Format k_recordio_format{.name = "recordio",
                               .layouts = k_layouts,
                               .probe = probe,
                               .scan = recordio::scan,
                               .open = recordio::open,
                               .create = recordio::create,
                               .scan_survives_damage = true,
                               .field_rule = recordio::k_field_rule};

}  // namespace bale
