#include "bale/formats/npy/payload.hpp"

#include <algorithm>

#include "bale/formats/core/error.hpp"
#include "bale/formats/npy/image_array.hpp"

namespace bale::npy {
namespace {

class ImagePayload final : public FilePayload {
 public:
  explicit ImagePayload(const std::string& path) : FilePayload(path), array_(read_image_array(file_)) {}

  void read(std::uint64_t, std::uint32_t, const Extent& extent, MutableBytes out) const override {
    const std::uint64_t begin = extent.offset - array_.data_offset;
    const bool one_of_them = extent.offset >= array_.data_offset && array_.image_bytes() != 0 &&
                             begin % array_.image_bytes() == 0 && begin / array_.image_bytes() < array_.num_images;
    if (!one_of_them || out.size() != array_.delivered_bytes()) {
      throw Error(ErrorCode::damaged, "index and file disagree about the images' number or size",
                  {.path = file_.path()});
    }
    const Bytes header = as_bytes(array_.image_header);
    std::copy(header.begin(), header.end(), out.begin());
    file_.read_exact(extent.offset, out.subspan(header.size()));
  }

  std::optional<FileRange> locate(std::uint64_t, std::uint32_t, const Extent& extent) const override {
    return FileRange{extent.offset, array_.image_bytes()};
  }

  bool is_plain() const override { return false; }

 private:
  const ImageArray array_;
};

}  // namespace

std::unique_ptr<Payload> open(const std::string& path, const ShardIndex&) {
  return std::make_unique<ImagePayload>(path);
}

}  // namespace bale::npy
