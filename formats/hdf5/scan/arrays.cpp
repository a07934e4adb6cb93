// Datasets of decoded images: ours ("array") and those of other tools.
#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "bale/formats/base/codec/array_header.hpp"
#include "bale/formats/container/reading/scanned_fields.hpp"
#include "bale/formats/hdf5/library/h5.hpp"
#include "bale/formats/hdf5/scan/scan.hpp"

namespace bale::h5 {
namespace {

// Names used by bale and by most h5py scripts, BigGAN's ILSVRC, Caffe, PatchCamelyon.
constexpr std::array<const char*, 5> k_array_names{"images", "imgs", "data", "image", "x"};
constexpr std::uint64_t k_max_row_bytes = std::uint64_t{1} << 30;
constexpr std::size_t k_max_rank = 8;

/// Sets width and height if the axes can only be those of an image: (H, W), (H, W, C) or (C, H, W).
void guess_dimensions(const std::vector<std::uint64_t>& shape, ArrayShape& array) {
  const auto is_channels = [](std::uint64_t side) { return side == 1 || side == 3 || side == 4; };
  std::uint64_t height = 0;
  std::uint64_t width = 0;
  if (shape.size() == 2) {
    height = shape[0];
    width = shape[1];
  } else if (shape.size() == 3 && is_channels(shape[2])) {
    height = shape[0];
    width = shape[1];
  } else if (shape.size() == 3 && is_channels(shape[0])) {
    height = shape[1];
    width = shape[2];
  }
  constexpr std::uint64_t k_limit = std::numeric_limits<std::uint32_t>::max();
  if (height > k_limit || width > k_limit) return;
  array.height = static_cast<std::uint32_t>(height);
  array.width = static_cast<std::uint32_t>(width);
}

/// Where the pixels of uint8 images of (H, W, 3) are in the file, if they lie there unchanged.
std::optional<std::uint64_t> find_pixels(const InputFile& file, const ArrayShape& array) {
  if (array.dataset.layout != H5D_CONTIGUOUS || array.header != image_header(array.height, array.width)) return {};
  const haddr_t offset = dataset_offset(array.dataset.id.id());
  if (offset == HADDR_UNDEF) return {};
  if (offset > file.size() || array.dataset.count > file.size() - offset) {
    file.damaged(fmt::format("/{} lies past the end of the file", printable(array.dataset.name)));
  }
  return offset;
}

}  // namespace

std::string image_header(std::uint32_t height, std::uint32_t width) {
  const std::uint64_t shape[] = {height, width, 3};
  return array_header_text("|u1", shape);
}

std::optional<ArrayShape> array_of(const InputFile& file, InputDataset dataset) {
  if (dataset.dims.empty() || dataset.dims.size() > k_max_rank) return std::nullopt;
  const std::string descr = numpy_type(dataset.type.id());
  if (descr.empty()) return std::nullopt;
  const std::vector<std::uint64_t> shape(dataset.dims.begin() + 1, dataset.dims.end());
  ArrayShape array;
  array.row_bytes = dataset.count == 0 ? 0 : dataset.count / dataset.dims[0] * dataset.element_bytes;
  if (array.row_bytes > k_max_row_bytes) {
    file.unsupported(fmt::format("a row of /{} has more than 1 GiB", printable(dataset.name)));
  }
  array.header = array_header_text(descr, shape);
  guess_dimensions(shape, array);
  array.dataset = std::move(dataset);
  return array;
}

std::optional<ArrayShape> find_array(const InputFile& file) {
  for (const char* name : k_array_names) {
    auto dataset = file.find(name);
    if (!dataset || dataset->dims.size() < 2) continue;
    auto array = array_of(file, std::move(*dataset));
    if (!array) continue;
    file.require_filters(array->dataset);
    array->pixels_at = find_pixels(file, *array);
    return array;
  }
  return std::nullopt;
}

void set_array_extents(const InputFile& file, const ArrayShape& array, IndexBuilder& index) {
  if (array.dataset.dims[0] != index.size()) {
    file.damaged(fmt::format("/{} does not have one row per sample", printable(array.dataset.name)));
  }
  const std::uint32_t field = declare_field(index, {.name = std::string(k_array_field)}, file.path());
  index.set_located(field, false);
  for (std::uint64_t i = 0; i < index.size(); ++i) {
    const std::uint64_t offset = array.pixels_at ? k_pixels_in_file | (*array.pixels_at + i * array.row_bytes) : i;
    index.set_extent(i, field, offset, static_cast<std::uint32_t>(array.delivered_bytes()));
    index.set_dimensions(i, array.width, array.height);
  }
}

}  // namespace bale::h5
