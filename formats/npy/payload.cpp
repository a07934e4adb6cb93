#include "bale/formats/npy/npy.hpp"

#include <algorithm>

#include "bale/formats/base/error.hpp"
#include "bale/formats/container/reading/file_payload.hpp"
#include "bale/formats/npy/image_array.hpp"

namespace bale::npy {
namespace {

/// Takes the offsets and sizes of images from the index alone, so that images can be read even if the array's header is
/// damaged.
class ImagePayload final : public FilePayload {
 public:
  ImagePayload(const std::string& path, const ShardIndex& index) : FilePayload(path), index_(index) {}

  void read(std::uint64_t sample, std::uint32_t, const Extent& extent, MutableBytes out) const override {
    const std::string text = image_header(index_.height(sample), index_.width(sample));
    const std::uint64_t pixels = image_bytes(index_.height(sample), index_.width(sample));
    if (out.size() < text.size() || out.size() - text.size() != pixels) {
      throw Error(ErrorCode::damaged, "image size differs between index and file", {.path = file_.path()});
    }
    const Bytes header = as_bytes(text);
    std::copy(header.begin(), header.end(), out.begin());
    file_.read_exact(extent.offset, out.subspan(header.size()));
  }

  std::optional<FileRange> locate(std::uint64_t sample, std::uint32_t, const Extent& extent) const override {
    return FileRange{extent.offset, image_bytes(index_.height(sample), index_.width(sample))};
  }

  bool is_plain() const override { return false; }

 private:
  const ShardIndex& index_;
};

}  // namespace

std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index) {
  return std::make_unique<ImagePayload>(path, index);
}

}  // namespace bale::npy
