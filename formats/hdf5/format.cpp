#include "bale/formats/shard/format.hpp"
#include "bale/formats/container/reading/file_payload.hpp"
#include "bale/formats/container/writing/written_fields.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "bale/formats/base/file.hpp"
#include "bale/formats/hdf5/scan/scan.hpp"
#include "bale/formats/hdf5/writing/writer.hpp"

namespace bale {

extern const Format k_hdf5_format;

namespace {

constexpr std::array k_layouts{
    Layout{.name = "blob",
           .suffix = ".h5",
           .compresses_fields = true,
           .summary = "each field's bytes end to end in one dataset, with offsets: fastest"},
    Layout{.name = "vlen",
           .suffix = ".h5",
           .compresses_fields = true,
           .summary = "images as variable-length rows: the usual h5py layout"},
    Layout{.name = "array",
           .suffix = ".h5",
           .keeps_bytes = false,
           .summary = "decoded N x H x W x 3 pixels; options size, level (of compression)"},
};

/// A user block moves the superblock to 512, 1024, 2048, ... (format specification, II.A).
int probe(const ProbeInput& input) {
  constexpr std::string_view k_signature{"\x89HDF\r\n\x1a\n", 8};
  for (std::uint64_t at = 0; at < input.file_bytes; at = std::max<std::uint64_t>(512, 2 * at)) {
    std::array<std::byte, k_signature.size()> found{};
    if (at + found.size() <= input.head.size()) {
      std::copy_n(input.head.begin() + static_cast<std::ptrdiff_t>(at), found.size(), found.begin());
    } else if (input.file == nullptr || input.file->read_some(at, found) < found.size()) {
      return 0;
    }
    if (as_text(found) == k_signature) return 100;
  }
  return 0;
}

std::unique_ptr<Payload> open_payload(const std::string& path, const ShardIndex& index) {
  const bool all_located =
      std::all_of(index.fields().begin(), index.fields().end(), [](const FieldInfo& field) { return field.located; });
  if (all_located) return std::make_unique<FilePayload>(path);
  return h5::open_array_payload(path, index);
}

std::unique_ptr<ShardWriter> create(const WriterOptions& options) {
  if (options.layout == "blob") return h5::make_blob_writer(options);
  const bool is_plain_array = options.layout == "array" && number_option(options, "level", 0, 0, 9) == 0;
  return is_plain_array ? h5::make_array_writer(options) : h5::make_table_writer(options);
}

}  // namespace

const Format k_hdf5_format{.name = "hdf5",
                           .layouts = k_layouts,
                           .probe = probe,
                           .scan = h5::scan_container,
                           .open = open_payload,
                           .create = create,
                           .field_rule = h5::k_field_rule};

}  // namespace bale
