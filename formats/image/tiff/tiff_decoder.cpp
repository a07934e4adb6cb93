#include "bale/formats/image/tiff/tiff_decoder.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "bale/formats/image/codec.hpp"
#include "bale/formats/image/metadata/metadata.hpp"
#include "bale/formats/image/tiff/tiff_layout.hpp"
#include "bale/formats/image/tiff/tiff_orientation.hpp"
#include "bale/formats/image/tiff/tiff_rows.hpp"

namespace bale::image_detail {
namespace {

/// Six samples of 16 bits are 12 bytes. The rest is for directories, and for what decompression needs.
std::uint64_t max_block(std::uint64_t max_pixels) {
  constexpr std::uint64_t k_base = std::uint64_t{16} << 20;
  return k_base + 16 * std::min(max_pixels, k_default_max_pixels * 16);
}

int orientation_of(const TiffFile& file) {
  if (TIFFIsBigTIFF(file.get()) == 0) return tiff_orientation(file.bytes());
  return file.field<std::uint16_t>(TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
}

bool swaps_sides(int orientation) { return orientation >= 5 && orientation <= 8; }

/// Strips or tiles, read into memory of their own and then converted.
class BlockReader {
 public:
  BlockReader(const TiffFile& file, const TiffLayout& layout)
      : file_(file),
        layout_(layout),
        rows_(file, layout),
        num_planes_(layout.separate ? layout.samples : 1),
        block_bytes_(static_cast<std::size_t>(layout.tiled ? TIFFTileSize(file.get()) : TIFFStripSize(file.get()))),
        row_bytes_(
            static_cast<std::size_t>(layout.tiled ? TIFFTileRowSize(file.get()) : TIFFScanlineSize(file.get()))) {
    const std::uint64_t samples = std::uint64_t{layout.block_width} * (layout.separate ? 1 : layout.samples);
    if (row_bytes_ < (samples * layout.bits + 7) / 8 || block_bytes_ / row_bytes_ < layout.block_height) {
      file.fail("strips or tiles of another size than its header says");
    }
    block_ = std::make_unique<std::uint8_t[]>(block_bytes_ * num_planes_);
  }

  void read_all(std::uint8_t* rgb) {
    for (std::uint32_t y = 0; y < layout_.height; y += std::min(layout_.block_height, layout_.height - y)) {
      for (std::uint32_t x = 0; x < layout_.width; x += std::min(layout_.block_width, layout_.width - x)) {
        for (std::uint32_t plane = 0; plane < num_planes_; ++plane) read_plane(x, y, plane);
        convert(x, y, rgb);
      }
    }
  }

 private:
  void read_plane(std::uint32_t x, std::uint32_t y, std::uint32_t plane) {
    std::uint8_t* const out = block_.get() + plane * block_bytes_;
    const auto sample = static_cast<std::uint16_t>(plane);
    const tmsize_t read = layout_.tiled
                              ? TIFFReadEncodedTile(file_.get(), TIFFComputeTile(file_.get(), x, y, 0, sample), out,
                                                    static_cast<tmsize_t>(block_bytes_))
                              : TIFFReadEncodedStrip(file_.get(), TIFFComputeStrip(file_.get(), y, sample), out,
                                                     static_cast<tmsize_t>(block_bytes_));
    if (read < 0) file_.fail("the image data is damaged");
  }

  void convert(std::uint32_t x, std::uint32_t y, std::uint8_t* rgb) const {
    const std::uint32_t width = std::min(layout_.block_width, layout_.width - x);
    const std::uint32_t height = std::min(layout_.block_height, layout_.height - y);
    for (std::uint32_t row = 0; row < height; ++row) {
      TiffPlanes planes{};
      for (std::uint32_t plane = 0; plane < num_planes_; ++plane) {
        planes[plane] = block_.get() + plane * block_bytes_ + row * row_bytes_;
      }
      rows_.convert(planes, width, rgb + ((std::size_t{y} + row) * layout_.width + x) * 3);
    }
  }

  const TiffFile& file_;
  TiffLayout layout_;
  TiffRows rows_;
  std::uint32_t num_planes_;
  std::size_t block_bytes_;
  std::size_t row_bytes_;
  std::unique_ptr<std::uint8_t[]> block_;
};

/// Pixels that libtiff converts, a row of blocks at a time as Pillow asks for them.
class RgbaReader {
 public:
  explicit RgbaReader(const TiffFile& file) : file_(file) {
    if (TIFFRGBAImageOK(file.get(), text_) == 0) throw Error(ErrorCode::unsupported, std::string("TIFF: ") + text_);
    if (TIFFRGBAImageBegin(&image_, file.get(), 0, text_) == 0) file.fail(text_);
    image_.req_orientation = ORIENTATION_TOPLEFT;
    image_.col_offset = 0;
  }
  ~RgbaReader() { TIFFRGBAImageEnd(&image_); }
  RgbaReader(const RgbaReader&) = delete;
  RgbaReader& operator=(const RgbaReader&) = delete;

  void read_all(const TiffLayout& layout, std::uint8_t* rgb) {
    const std::uint32_t block = std::min(layout.block_height, layout.height);
    const auto pixels = std::make_unique<std::uint32_t[]>(std::size_t{layout.width} * block);
    for (std::uint32_t y = 0; y < layout.height; y += std::min(block, layout.height - y)) {
      const std::uint32_t height = std::min(block, layout.height - y);
      image_.row_offset = static_cast<int>(y);
      if (TIFFRGBAImageGet(&image_, pixels.get(), layout.width, height) == 0) file_.fail("the image data is damaged");
      for (std::size_t i = 0; i < std::size_t{layout.width} * height; ++i, rgb += 3) {
        put(rgb, {static_cast<std::uint8_t>(TIFFGetR(pixels[i])), static_cast<std::uint8_t>(TIFFGetG(pixels[i])),
                  static_cast<std::uint8_t>(TIFFGetB(pixels[i]))});
      }
    }
  }

 private:
  const TiffFile& file_;
  char text_[1024] = "";
  TIFFRGBAImage image_{};
};

void read_pixels(const TiffFile& file, const TiffLayout& layout, std::uint8_t* rgb) {
  if (layout.pixels == TiffPixels::rgba_image) {
    RgbaReader(file).read_all(layout, rgb);
  } else {
    BlockReader(file, layout).read_all(rgb);
  }
}

ImageHeader open(Bytes bytes, std::uint64_t max_pixels) {
  const TiffFile file(bytes, max_block(max_pixels));
  const TiffLayout layout = read_tiff_layout(file, max_pixels);
  ImageHeader header{
      .kind = ImageKind::tiff, .width = layout.width, .height = layout.height, .channels = layout.samples};
  if (layout.pixels == TiffPixels::palette) header.channels = 3;
  if (swaps_sides(orientation_of(file))) std::swap(header.width, header.height);
  return header;
}

void decode(Bytes bytes, std::uint64_t max_pixels, std::uint8_t* rgb) {
  const TiffFile file(bytes, max_block(max_pixels));
  const TiffLayout layout = read_tiff_layout(file, max_pixels);
  const int orientation = orientation_of(file);
  if (orientation == 1) return read_pixels(file, layout, rgb);
  Image image = make_image(layout.width, layout.height);
  read_pixels(file, layout, image.rgb.data());
  const Image upright = apply_orientation(std::move(image), orientation);
  std::memcpy(rgb, upright.rgb.data(), upright.rgb.size());
}

/// Whether all strips or tiles are inside the bytes.
bool has_end(Bytes bytes) {
  try {
    const TiffFile file(bytes, max_block(k_default_max_pixels));
    const TiffLayout layout = read_tiff_layout(file, k_default_max_pixels);
    const std::uint32_t count = layout.tiled ? TIFFNumberOfTiles(file.get()) : TIFFNumberOfStrips(file.get());
    for (std::uint32_t i = 0; i < count; ++i) {
      int failed = 0;
      const std::uint64_t offset = TIFFGetStrileOffsetWithErr(file.get(), i, &failed);
      const std::uint64_t length = TIFFGetStrileByteCountWithErr(file.get(), i, &failed);
      if (failed != 0 || length == 0 || offset > bytes.size() || length > bytes.size() - offset) return false;
    }
    return count != 0;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

const WholeCodec k_tiff_codec{open, decode, has_end};

}  // namespace bale::image_detail
