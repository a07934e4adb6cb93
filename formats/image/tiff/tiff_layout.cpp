#include "bale/formats/image/tiff/tiff_layout.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace bale::image_detail {
namespace {

// The compressions that Pillow reads, but for LZMA, whose decoder may claim any memory, and the JPEG of TIFF 6.0.
constexpr std::array<std::uint16_t, 12> k_compressions{
    COMPRESSION_NONE,     COMPRESSION_CCITTRLE,    COMPRESSION_CCITTFAX3,     COMPRESSION_CCITTFAX4,
    COMPRESSION_LZW,      COMPRESSION_JPEG,        COMPRESSION_ADOBE_DEFLATE, COMPRESSION_CCITTRLEW,
    COMPRESSION_PACKBITS, COMPRESSION_THUNDERSCAN, COMPRESSION_DEFLATE,       COMPRESSION_ZSTD};

struct Tags {
  std::uint16_t compression = COMPRESSION_NONE;
  std::uint16_t photometric = PHOTOMETRIC_MINISWHITE;
  std::uint16_t bits = 1;
  std::uint16_t samples = 1;
  std::uint16_t format = SAMPLEFORMAT_UINT;
  bool big_endian = false;
  bool reversed_bits = false;
  std::vector<std::uint16_t> extra{};
};

Tags read_tags(const TiffFile& file) {
  Tags tags;
  tags.compression = file.field<std::uint16_t>(TIFFTAG_COMPRESSION, COMPRESSION_NONE);
  TIFFGetField(file.get(), TIFFTAG_PHOTOMETRIC, &tags.photometric);
  tags.bits = file.field<std::uint16_t>(TIFFTAG_BITSPERSAMPLE, 1);
  tags.samples = file.field<std::uint16_t>(TIFFTAG_SAMPLESPERPIXEL, 1);
  tags.format = file.field<std::uint16_t>(TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
  tags.big_endian = TIFFIsBigEndian(file.get()) != 0;
  tags.reversed_bits = file.field<std::uint16_t>(TIFFTAG_FILLORDER, FILLORDER_MSB2LSB) == FILLORDER_LSB2MSB;
  std::uint16_t count = 0;
  const std::uint16_t* kinds = nullptr;
  if (TIFFGetField(file.get(), TIFFTAG_EXTRASAMPLES, &count, &kinds) == 1 && kinds != nullptr) {
    tags.extra.assign(kinds, kinds + count);
  }
  return tags;
}

[[noreturn]] void refuse(const Tags& tags) {
  throw Error(
      ErrorCode::unsupported,
      fmt::format("TIFF: {} samples of {} bits (format {}, photometric {}, compression {}), which bale does not read",
                  tags.samples, tags.bits, tags.format, tags.photometric, tags.compression),
      {.hint = "convert it to RGB or gray of 8 bits"});
}

bool is_gray_read(const Tags& tags) {
  const bool black_is_zero = tags.photometric != PHOTOMETRIC_MINISWHITE;
  const bool is_float = tags.format == SAMPLEFORMAT_IEEEFP;
  const bool is_signed = tags.format == SAMPLEFORMAT_INT;
  const bool plain = black_is_zero && !tags.reversed_bits;
  if (tags.samples == 2)
    return tags.bits == 8 && plain && !is_float && !is_signed && tags.extra[0] != EXTRASAMPLE_ASSOCALPHA;
  switch (tags.bits) {
    case 1:
    case 2:
    case 4:
      return !is_float && !is_signed;
    case 8:
      return !is_float && (!is_signed || plain);
    case 12:
      return !is_float && !is_signed && plain && !tags.big_endian;
    case 16:
      if (is_float) return false;
      if (is_signed) return plain;
      return tags.big_endian ? plain : black_is_zero || !tags.reversed_bits;
    case 32:
      if (tags.reversed_bits) return false;
      return is_float || (black_is_zero && (is_signed || !tags.big_endian));
    default:
      return false;
  }
}

/// Extra samples may follow the colors: at most one that counts, and then some that do not.
bool are_extras_read(const Tags& tags, std::size_t colors) {
  const std::size_t count = tags.samples - colors;
  if (tags.samples < colors || tags.samples > 6 || count != tags.extra.size()) return false;
  if (tags.bits == 16 && count > (colors == 3 ? 1u : 0u)) return false;
  if (count != 0 && tags.reversed_bits) return false;
  return std::all_of(tags.extra.begin() + (count != 0 ? 1 : 0), tags.extra.end(),
                     [](std::uint16_t kind) { return kind == EXTRASAMPLE_UNSPECIFIED; });
}

bool is_jpeg_in_one_plane(const Tags& tags, bool separate) { return tags.compression == COMPRESSION_JPEG && !separate; }

TiffPixels pixels_of(const Tags& tags, bool separate) {
  const bool is_uint = tags.format == SAMPLEFORMAT_UINT;
  const bool whole_bytes = is_uint && (tags.bits == 8 || tags.bits == 16);
  switch (tags.photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
      if ((tags.samples == 1 || (tags.samples == 2 && tags.extra.size() == 1)) && is_gray_read(tags)) {
        return TiffPixels::gray;
      }
      refuse(tags);
    case PHOTOMETRIC_RGB: {
      if (!whole_bytes || !are_extras_read(tags, 3) || (tags.bits == 16 && tags.reversed_bits)) refuse(tags);
      const bool premultiplied = !tags.extra.empty() && tags.extra[0] == EXTRASAMPLE_ASSOCALPHA;
      return premultiplied ? TiffPixels::premultiplied : TiffPixels::rgb;
    }
    case PHOTOMETRIC_PALETTE:
      if (!is_uint || tags.bits > 8 || (tags.bits & (tags.bits - 1)) != 0 || tags.samples > 2) refuse(tags);
      if (tags.samples == 2 && (tags.bits != 8 || tags.extra.size() != 1 || tags.extra[0] == EXTRASAMPLE_ASSOCALPHA)) {
        refuse(tags);
      }
      return TiffPixels::palette;
    case PHOTOMETRIC_SEPARATED:
      if (!whole_bytes || !are_extras_read(tags, 4) || tags.reversed_bits) refuse(tags);
      if (!tags.extra.empty() && tags.extra[0] != EXTRASAMPLE_UNSPECIFIED) refuse(tags);
      return TiffPixels::cmyk;
    case PHOTOMETRIC_YCBCR:
      // Pillow itself converts what is not compressed, with other rounding than libtiff.
      if (tags.bits != 8 || !is_uint || tags.samples != 3 || tags.compression == COMPRESSION_NONE) refuse(tags);
      return is_jpeg_in_one_plane(tags, separate) ? TiffPixels::rgb : TiffPixels::rgba_image;
    default:
      refuse(tags);
  }
}

void read_blocks(const TiffFile& file, std::uint64_t max_pixels, TiffLayout& out) {
  out.tiled = TIFFIsTiled(file.get()) != 0;
  if (out.tiled) {
    out.block_width = file.field<std::uint32_t>(TIFFTAG_TILEWIDTH, 0);
    out.block_height = file.field<std::uint32_t>(TIFFTAG_TILELENGTH, 0);
    check_pixel_budget(out.block_width, out.block_height, max_pixels);
  } else {
    out.block_width = out.width;
    out.block_height = std::min(file.field<std::uint32_t>(TIFFTAG_ROWSPERSTRIP, out.height), out.height);
    if (out.block_height == 0) fail_image(ErrorCode::damaged, "TIFF: strips of no rows");
  }
}

}  // namespace

TiffLayout read_tiff_layout(const TiffFile& file, std::uint64_t max_pixels) {
  TiffLayout out;
  out.width = file.field<std::uint32_t>(TIFFTAG_IMAGEWIDTH, 0);
  out.height = file.field<std::uint32_t>(TIFFTAG_IMAGELENGTH, 0);
  check_pixel_budget(out.width, out.height, max_pixels);
  const Tags tags = read_tags(file);
  if (std::find(k_compressions.begin(), k_compressions.end(), tags.compression) == k_compressions.end() ||
      TIFFIsCODECConfigured(tags.compression) == 0) {
    throw Error(ErrorCode::unsupported, fmt::format("TIFF: compression {}, which bale does not read", tags.compression),
                {.hint = "save it with LZW or deflate"});
  }
  out.separate =
      file.field<std::uint16_t>(TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) == PLANARCONFIG_SEPARATE && tags.samples > 1;
  out.pixels = pixels_of(tags, out.separate);
  out.bits = tags.bits;
  out.samples = tags.samples;
  out.sample_format = tags.format;
  const bool may_have_alpha = out.pixels != TiffPixels::cmyk && out.pixels != TiffPixels::rgba_image;
  if (may_have_alpha && !tags.extra.empty() && tags.extra[0] != EXTRASAMPLE_UNSPECIFIED) {
    out.alpha = static_cast<std::uint32_t>(tags.samples - tags.extra.size());
  }
  out.inverted = tags.photometric == PHOTOMETRIC_MINISWHITE && tags.bits <= 8;
  if (tags.photometric == PHOTOMETRIC_YCBCR && out.pixels == TiffPixels::rgb) {
    TIFFSetField(file.get(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  }
  read_blocks(file, max_pixels, out);
  return out;
}

std::array<Rgb, 256> read_tiff_palette(const TiffFile& file, std::uint32_t bits) {
  std::array<Rgb, 256> out{};
  const std::uint16_t* red = nullptr;
  const std::uint16_t* green = nullptr;
  const std::uint16_t* blue = nullptr;
  if (TIFFGetField(file.get(), TIFFTAG_COLORMAP, &red, &green, &blue) != 1) file.fail("no palette in it");
  for (std::size_t i = 0; i < std::size_t{1} << bits; ++i) {
    out[i] = {static_cast<std::uint8_t>(red[i] >> 8), static_cast<std::uint8_t>(green[i] >> 8),
              static_cast<std::uint8_t>(blue[i] >> 8)};
  }
  return out;
}

}  // namespace bale::image_detail
