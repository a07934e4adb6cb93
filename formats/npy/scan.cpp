#include "bale/formats/npy/npy.hpp"

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/container/reading/scanned_fields.hpp"
#include "bale/formats/shard/key.hpp"

namespace bale::npy {

void scan(const std::string& path, IndexBuilder& index) {
  const ImageArray array = read_image_array(File::open_read(path));
  const std::vector<std::int64_t> labels = read_labels(path, array.num_images);
  for (std::uint64_t i = 0; i < array.num_images; ++i) {
    index.add_sample(fmt::format("{:08d}", i), labels.empty() ? k_no_label : labels[i]);
  }
  set_image_extents(path, array, index);
}

void set_image_extents(const std::string& path, const ImageArray& array, IndexBuilder& index) {
  if (index.size() != array.num_images) {
    throw Error(ErrorCode::damaged, fmt::format("{} images for {} samples", array.num_images, index.size()),
                {.path = path});
  }
  const std::uint32_t field = declare_field(index, {.name = std::string(k_array_field)}, path);
  const std::uint64_t pixels = image_bytes(array.height, array.width);
  const auto delivered = static_cast<std::uint32_t>(image_header(array.height, array.width).size() + pixels);
  for (std::uint64_t i = 0; i < array.num_images; ++i) {
    index.set_extent(i, field, array.data_offset + i * pixels, delivered);
    index.set_dimensions(i, array.width, array.height);
  }
}

}  // namespace bale::npy
