#include "bale/formats/image/codec/whole_codec.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "bale/formats/image/metadata/orientation.hpp"
#include "bale/formats/image/pixel_mode.hpp"
#include "bale/formats/image/tiff/tiff_layout.hpp"

namespace bale::image_detail {
namespace {

// A TIFF's samples as rows of RGB, with Pillow's arithmetic.

/// Where the samples of a row are: one start per plane, or one in all.
using TiffPlanes = std::array<const std::uint8_t*, 6>;

/// Converts rows of one image.
class TiffRows {
 public:
  TiffRows(const TiffFile& file, const TiffLayout& layout);
  void convert(const TiffPlanes& planes, std::uint32_t width, std::uint8_t* rgb) const;
  /// The same, with alpha in a fourth byte.
  void convert_rgba(const TiffPlanes& planes, std::uint32_t width, std::uint8_t* rgba) const;
  /// The samples themselves, of an image for which is_gray_16() is true. `out` need not be aligned.
  void copy_gray_16(const TiffPlanes& planes, std::uint32_t width, std::uint8_t* out) const;

 private:
  std::uint8_t gray_of(const std::uint8_t* row, std::uint32_t x) const;
  std::uint8_t byte_of(const TiffPlanes& planes, std::uint32_t x, std::uint32_t number) const;
  void convert_color(const TiffPlanes& planes, std::uint32_t x, std::uint8_t* pixel) const;
  void convert_pixel(const TiffPlanes& planes, std::uint32_t x, std::uint8_t* pixel) const;

  TiffLayout layout_;
  std::uint32_t step_;  // samples from pixel to pixel
  std::array<Rgb, 256> palette_{};
};

template <typename Value>
Value load(const std::uint8_t* at) {
  Value value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

template <typename Value>
std::uint8_t clipped(Value value) {
  if (value >= Value{255}) return 255;
  return value > Value{0} ? static_cast<std::uint8_t>(value) : std::uint8_t{0};  // 0 also for a NaN
}

/// Sample `x` of a row of 1, 2, 4 or 8 bits each.
std::uint32_t bits_at(const std::uint8_t* row, std::uint32_t x, std::uint32_t bits) {
  const std::uint32_t per_byte = 8 / bits;
  return std::uint32_t{row[x / per_byte]} >> (8 - bits - x % per_byte * bits) & ((1u << bits) - 1);
}

/// 12 bits: two samples in three bytes.
std::uint32_t twelve_bits_at(const std::uint8_t* row, std::uint32_t x) {
  const std::uint8_t* const at = row + x / 2 * 3;
  return x % 2 == 0 ? std::uint32_t{at[0]} << 4 | at[1] >> 4 : (at[1] & 15u) << 8 | at[2];
}

std::uint8_t without_alpha(std::uint32_t color, std::uint32_t alpha) {
  if (alpha == 0) return 0;
  return static_cast<std::uint8_t>(std::min(color * 255 / alpha, 255u));
}

/// a * b / 255, rounded.
std::uint32_t times(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

TiffRows::TiffRows(const TiffFile& file, const TiffLayout& layout)
    : layout_(layout), step_(layout.separate ? 1 : layout.samples) {
  if (layout.pixels == TiffPixels::palette) palette_ = read_tiff_palette(file, layout.bits);
}

std::uint8_t TiffRows::gray_of(const std::uint8_t* row, std::uint32_t x) const {
  switch (layout_.bits) {
    case 12:
      return clipped(twelve_bits_at(row, x));
    case 16:
      return layout_.sample_format == SAMPLEFORMAT_INT ? clipped(load<std::int16_t>(row + x * std::size_t{2}))
                                                       : clipped(load<std::uint16_t>(row + x * std::size_t{2}));
    case 32:  // Pillow takes unsigned numbers as signed ones
      return layout_.sample_format == SAMPLEFORMAT_IEEEFP ? clipped(load<float>(row + x * std::size_t{4}))
                                                          : clipped(load<std::int32_t>(row + x * std::size_t{4}));
    default:
      break;
  }
  const std::uint32_t value = bits_at(row, x * step_, layout_.bits) * (255 / ((1u << layout_.bits) - 1));
  return static_cast<std::uint8_t>(layout_.inverted ? 255 - value : value);
}

/// Of 16 bits the upper half.
std::uint8_t TiffRows::byte_of(const TiffPlanes& planes, std::uint32_t x, std::uint32_t number) const {
  const std::uint8_t* const row = layout_.separate ? planes[number] : planes[0];
  const std::size_t at = std::size_t{x} * step_ + (layout_.separate ? 0 : number);
  if (layout_.bits == 8) return row[at];
  return static_cast<std::uint8_t>(load<std::uint16_t>(row + at * 2) >> 8);
}

void TiffRows::convert_color(const TiffPlanes& planes, std::uint32_t x, std::uint8_t* pixel) const {
  for (std::uint32_t i = 0; i < 3; ++i) pixel[i] = byte_of(planes, x, i);
  if (layout_.pixels == TiffPixels::rgb) return;
  const std::uint32_t fourth = byte_of(planes, x, 3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    if (layout_.pixels == TiffPixels::premultiplied) {
      pixel[i] = without_alpha(pixel[i], fourth);
    } else {
      const std::uint32_t light = 255 - fourth;
      pixel[i] = static_cast<std::uint8_t>(light - times(pixel[i], light));
    }
  }
}

void TiffRows::convert(const TiffPlanes& planes, std::uint32_t width, std::uint8_t* rgb) const {
  if (layout_.pixels == TiffPixels::rgb && layout_.bits == 8 && step_ == 3) {
    std::memcpy(rgb, planes[0], std::size_t{width} * 3);
    return;
  }
  for (std::uint32_t x = 0; x < width; ++x, rgb += 3) convert_pixel(planes, x, rgb);
}

void TiffRows::convert_pixel(const TiffPlanes& planes, std::uint32_t x, std::uint8_t* pixel) const {
  if (layout_.pixels == TiffPixels::gray) {
    put(pixel, gray(gray_of(planes[0], x)));
  } else if (layout_.pixels == TiffPixels::palette) {
    put(pixel, palette_[bits_at(planes[0], x * step_, layout_.bits)]);
  } else {
    convert_color(planes, x, pixel);
  }
}

void TiffRows::convert_rgba(const TiffPlanes& planes, std::uint32_t width, std::uint8_t* rgba) const {
  for (std::uint32_t x = 0; x < width; ++x, rgba += 4) {
    convert_pixel(planes, x, rgba);
    rgba[3] = layout_.alpha == 0 ? std::uint8_t{255} : byte_of(planes, x, layout_.alpha);
  }
}

void TiffRows::copy_gray_16(const TiffPlanes& planes, std::uint32_t width, std::uint8_t* out) const {
  if (layout_.bits == 16) {
    std::memcpy(out, planes[0], std::size_t{width} * 2);
    return;
  }
  for (std::uint32_t x = 0; x < width; ++x, out += 2) {
    const auto value = static_cast<std::uint16_t>(twelve_bits_at(planes[0], x));
    std::memcpy(out, &value, sizeof value);
  }
}

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
  BlockReader(const TiffFile& file, const TiffLayout& layout, PixelMode mode)
      : file_(file),
        layout_(layout),
        mode_(mode),
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

  void read_all(std::uint8_t* pixels) {
    for (std::uint32_t y = 0; y < layout_.height; y += std::min(layout_.block_height, layout_.height - y)) {
      for (std::uint32_t x = 0; x < layout_.width; x += std::min(layout_.block_width, layout_.width - x)) {
        for (std::uint32_t plane = 0; plane < num_planes_; ++plane) read_plane(x, y, plane);
        convert(x, y, pixels);
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

  void convert(std::uint32_t x, std::uint32_t y, std::uint8_t* pixels) const {
    const std::uint32_t width = std::min(layout_.block_width, layout_.width - x);
    const std::uint32_t height = std::min(layout_.block_height, layout_.height - y);
    for (std::uint32_t row = 0; row < height; ++row) {
      TiffPlanes planes{};
      for (std::uint32_t plane = 0; plane < num_planes_; ++plane) {
        planes[plane] = block_.get() + plane * block_bytes_ + row * row_bytes_;
      }
      std::uint8_t* const out = pixels + ((std::size_t{y} + row) * layout_.width + x) * mode_bytes(mode_);
      if (mode_ == PixelMode::rgba) {
        rows_.convert_rgba(planes, width, out);
      } else if (mode_ == PixelMode::gray_16) {
        rows_.copy_gray_16(planes, width, out);
      } else {
        rows_.convert(planes, width, out);
      }
    }
  }

  const TiffFile& file_;
  TiffLayout layout_;
  PixelMode mode_;
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

  /// Pixels of 3 bytes, or of 4 of which the last is 255.
  void read_all(const TiffLayout& layout, std::uint32_t pixel_bytes, std::uint8_t* out) {
    const std::uint32_t block = std::min(layout.block_height, layout.height);
    const auto pixels = std::make_unique<std::uint32_t[]>(std::size_t{layout.width} * block);
    for (std::uint32_t y = 0; y < layout.height; y += std::min(block, layout.height - y)) {
      const std::uint32_t height = std::min(block, layout.height - y);
      image_.row_offset = static_cast<int>(y);
      if (TIFFRGBAImageGet(&image_, pixels.get(), layout.width, height) == 0) file_.fail("the image data is damaged");
      for (std::size_t i = 0; i < std::size_t{layout.width} * height; ++i, out += pixel_bytes) {
        put(out, {static_cast<std::uint8_t>(TIFFGetR(pixels[i])), static_cast<std::uint8_t>(TIFFGetG(pixels[i])),
                  static_cast<std::uint8_t>(TIFFGetB(pixels[i]))});
        if (pixel_bytes == 4) out[3] = 255;
      }
    }
  }

 private:
  const TiffFile& file_;
  char text_[1024] = "";
  TIFFRGBAImage image_{};
};

void read_pixels(const TiffFile& file, const TiffLayout& layout, PixelMode mode, std::uint8_t* out) {
  if (layout.pixels == TiffPixels::rgba_image) {
    RgbaReader(file).read_all(layout, mode_bytes(mode), out);
  } else {
    BlockReader(file, layout, mode).read_all(out);
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

void decode_as(PixelMode mode, Bytes bytes, std::uint64_t max_pixels, std::uint8_t* out) {
  const TiffFile file(bytes, max_block(max_pixels));
  const TiffLayout layout = read_tiff_layout(file, max_pixels);
  if (mode == PixelMode::gray_16 && !is_gray_16(layout)) fail_not_gray_16();
  const int orientation = orientation_of(file);
  if (orientation <= 1 || orientation > 8) return read_pixels(file, layout, mode, out);
  std::vector<std::uint8_t> pixels(std::size_t{layout.width} * layout.height * mode_bytes(mode));
  read_pixels(file, layout, mode, pixels.data());
  turn_pixels({pixels.data(), layout.width, layout.height, mode_bytes(mode)}, orientation, out);
}

void decode(Bytes bytes, std::uint64_t max_pixels, std::uint8_t* rgb) {
  decode_as(PixelMode::rgb, bytes, max_pixels, rgb);
}
void decode_rgba(Bytes bytes, std::uint64_t max_pixels, std::uint8_t* rgba) {
  decode_as(PixelMode::rgba, bytes, max_pixels, rgba);
}
void decode_gray_16(Bytes bytes, std::uint64_t max_pixels, std::uint16_t* values) {
  decode_as(PixelMode::gray_16, bytes, max_pixels, reinterpret_cast<std::uint8_t*>(values));
}

/// Whether all strips or tiles are inside the bytes.
bool has_end(Bytes bytes) {
  return holds([&] {
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
  });
}

}  // namespace

const WholeCodec k_tiff_codec{open, decode, has_end, decode_rgba, decode_gray_16};

}  // namespace bale::image_detail
