#include "bale/formats/container/writing/uniform_images.hpp"

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/container/writing/written_fields.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_max_image_bytes = std::uint64_t{1} << 30;
constexpr int k_max_side = 16'384;

}  // namespace

UniformImages::UniformImages(const WriterOptions& options)
    : path_(options.path), size_(static_cast<std::uint32_t>(number_option(options, "size", 0, 1, k_max_side))) {}

Image UniformImages::decode(const SampleView& sample) const {
  const auto refuse = [&](std::string_view what, std::string_view hint = {}) {
    throw Error(ErrorCode::invalid_argument, what,
                {.path = path_, .key = std::string(sample.key), .hint = std::string(hint)});
  };
  const FieldView* const field = sample.find_image();
  if (field == nullptr) refuse("sample has no image to decode", "use another layout");
  Image image;
  try {
    image = decode_image(field->bytes, k_max_image_bytes / 3);  // the packer has a limit of its own
    if (size_ != 0) image = resize_and_center_crop(image, size_);
  } catch (const Error& error) {
    refuse(fmt::format("field \"{}\" cannot be decoded: {}", printable(field->name), error.message()));
  }
  if (width_ != 0 && (image.width != width_ || image.height != height_)) {
    refuse(fmt::format("image is {} x {}, those before it {} x {}", image.width, image.height, width_, height_),
           "give `size` N to resize and crop, or use another layout");
  }
  if (image.rgb.empty() || image.rgb.size() > k_max_image_bytes) refuse("image is empty or larger than 1 GiB decoded");
  return image;
}

void UniformImages::accept(const Image& image) {
  width_ = image.width;
  height_ = image.height;
}

}  // namespace bale
