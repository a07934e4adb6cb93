// Containers that others made, known by the names their makers gave (FORMAT.md, "Foreign").
#include <array>

#include <fmt/format.h>

#include "bale/formats/core/key.hpp"
#include "bale/formats/core/sample.hpp"
#include "bale/formats/hdf5/scan.hpp"
#include "bale/formats/image/image.hpp"

namespace bale::h5 {
namespace {

constexpr std::array<const char*, 6> k_bytes_names{"images", "encoded_images", "image", "imgs", "data", "jpg"};
constexpr std::array<const char*, 5> k_label_names{"labels", "targets", "label", "target", "y"};
constexpr std::array<const char*, 5> k_key_names{"keys", "filenames", "names", "paths", "ids"};
constexpr std::size_t k_listed_names = 20;

std::optional<InputDataset> find_bytes(const InputFile& file) {
  for (const char* name : k_bytes_names) {
    auto dataset = file.find(name);
    if (dataset && dataset->kind == ElementKind::vlen_bytes) return dataset;
  }
  return std::nullopt;
}

/// One label a row; rows beyond the table (Fuel's unlabelled test set) have none.
std::vector<std::int64_t> find_labels(const InputFile& file, std::uint64_t num_samples) {
  for (const char* name : k_label_names) {
    const auto dataset = file.find(name);
    if (!dataset || dataset->dims.empty() || dataset->count != dataset->dims[0] || dataset->count > num_samples)
      continue;
    if (dataset->kind != ElementKind::integer && dataset->kind != ElementKind::real) continue;
    std::vector<std::int64_t> labels = file.read_integers(*dataset);
    labels.resize(num_samples, k_no_label);
    return labels;
  }
  return std::vector<std::int64_t>(num_samples, k_no_label);
}

std::vector<std::string> find_names(const InputFile& file, std::uint64_t num_samples) {
  for (const char* name : k_key_names) {
    const auto dataset = file.find(name);
    if (!dataset || dataset->count != num_samples) continue;
    if (dataset->kind == ElementKind::integer || dataset->kind == ElementKind::real ||
        dataset->kind == ElementKind::other) {
      continue;
    }
    return file.read_strings(*dataset);
  }
  return {};
}

void add_samples(const InputFile& file, std::uint64_t num_samples, IndexBuilder& index) {
  if (num_samples > file.size()) file.damaged("more samples than bytes");
  const std::vector<std::int64_t> labels = find_labels(file, num_samples);
  const std::vector<std::string> names = find_names(file, num_samples);
  ForeignKeys keys;
  for (std::uint64_t i = 0; i < num_samples; ++i) {
    index.add_sample(keys.take(names.empty() ? std::string() : key_of_file(names[i]), i), labels[i]);
  }
}

/// Name of the field that the first element's opening bytes show; readers look at the content anyway.
std::string sniff_field(const InputFile& file, const std::vector<FileRange>& ranges) {
  for (const FileRange& range : ranges) {
    if (range.length == 0) continue;
    std::vector<std::byte> head(std::min<std::uint64_t>(range.length, 4096));
    file.bytes().read_exact(range.offset, head);
    return std::string(image_field_name(probe_image(head).kind));
  }
  return "jpg";
}

}  // namespace

void scan_foreign(const InputFile& file, IndexBuilder& index) {
  if (const auto bytes = find_bytes(file)) {
    const std::vector<FileRange> ranges = locate_vlen(file, *bytes);
    add_samples(file, ranges.size(), index);
    const std::uint32_t field = index.add_field(sniff_field(file, ranges));
    for (std::uint64_t i = 0; i < ranges.size(); ++i) {
      index.set_extent(i, field, ranges[i].offset, static_cast<std::uint32_t>(ranges[i].length));
    }
    return;
  }
  if (const auto array = find_array(file)) {
    add_samples(file, array->dataset.dims[0], index);
    set_array_extents(file, *array, index);
    return;
  }
  std::string names;
  for (const std::string& name : file.links("/", k_listed_names))
    names += fmt::format("{}/{}", names.empty() ? "" : ", ", printable(name));
  file.unsupported(fmt::format("no dataset of images found among {}", names.empty() ? "nothing" : names),
                   "images are looked for under names such as images, encoded_images, imgs, data");
}

}  // namespace bale::h5
