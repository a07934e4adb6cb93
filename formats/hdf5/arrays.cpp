// Datasets of decoded images: ours ("array") and those of other tools.
#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "bale/formats/authoring/scanned_fields.hpp"
#include "bale/formats/base/array_header.hpp"
#include "bale/formats/hdf5/scan.hpp"
#include "bale/formats/hdf5/types.hpp"

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

}  // namespace

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
    index.set_extent(i, field, i, static_cast<std::uint32_t>(array.delivered_bytes()));
    index.set_dimensions(i, array.width, array.height);
  }
}

}  // namespace bale::h5
