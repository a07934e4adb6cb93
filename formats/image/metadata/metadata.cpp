#include "bale/formats/image/metadata/metadata.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/codec/whole_codec.hpp"
#include "bale/formats/image/metadata/image_pieces.hpp"
#include "bale/formats/image/metadata/orientation.hpp"

namespace bale {
namespace {

using image_detail::image_pieces;
using image_detail::ImagePieces;
using image_detail::Piece;
using image_detail::PieceUse;

constexpr std::string_view k_end_of_jpeg = "\xFF\xD9";

void append(std::vector<std::byte>& out, Bytes bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }

/// The picture pieces only; empty if there are no others.
std::vector<std::byte> picture_of(Bytes image) {
  const ImagePieces found = image_pieces(image);
  if (found.kind == ImageKind::unknown) return {};
  std::vector<std::byte> out;
  out.reserve(image.size() + k_end_of_jpeg.size());
  for (const Piece& piece : found.pieces) {
    if (piece.use == PieceUse::picture) append(out, image.subspan(piece.begin, piece.end - piece.begin));
  }
  if (out.size() == image.size()) return {};
  // libjpeg reads some bytes past the last pixel, and the bytes that followed it were removed.
  if (found.kind == ImageKind::jpeg && !as_text(out).ends_with(k_end_of_jpeg)) append(out, as_bytes(k_end_of_jpeg));
  return out;
}

/// The pixels that stripping must not change.
Image decode_to_compare(Bytes image, std::uint64_t max_pixels) {
  try {
    return decode_image(image, max_pixels);
  } catch (const Error& error) {
    throw Error(error.code(),
                fmt::format("metadata are stripped only from images that can be decoded, to compare their "
                            "pixels: {}",
                            error.message()));
  }
}

}  // namespace

namespace image_detail {

void turn_pixels(const Raster& source, int orientation, std::uint8_t* out) {
  // 5 to 8 exchange rows and columns. The two mirrorings give the source of the output's (0, 0).
  const bool transposed = orientation >= 5;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const std::uint32_t width = transposed ? source.height : source.width;
  const std::uint32_t height = transposed ? source.width : source.height;
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x, out += source.channels) {
      const std::uint32_t column = transposed ? y : x;
      const std::uint32_t row = transposed ? x : y;
      const std::size_t from = std::size_t{from_bottom ? source.height - 1 - row : row} * source.width +
                               (from_right ? source.width - 1 - column : column);
      std::copy_n(source.pixels + from * source.channels, source.channels, out);
    }
  }
}

}  // namespace image_detail

int exif_orientation(Bytes image) {
  try {
    const image_detail::WholeCodec* const codec = image_detail::whole_codec(probe_image(image).kind);
    if (codec != nullptr) return codec->orientation != nullptr ? codec->orientation(image) : 1;
    return image_detail::read_orientation(image, image_pieces(image));
  } catch (const Error&) {
    return 1;  // the decoder reports what is wrong with the image
  }
}

Image apply_orientation(Image image, int orientation) {
  if (orientation <= 1 || orientation > 8) return image;
  const bool transposed = orientation >= 5;
  Image out{.width = transposed ? image.height : image.width, .height = transposed ? image.width : image.height};
  out.rgb.resize(image.rgb.size());
  image_detail::turn_pixels({image.rgb.data(), image.width, image.height, 3}, orientation, out.rgb.data());
  return out;
}

std::vector<std::byte> strip_metadata(Bytes image, std::uint64_t max_pixels) {
  std::vector<std::byte> out = picture_of(image);
  if (out.empty()) return {};
  const Image expected = decode_to_compare(image, max_pixels);
  const Image result = decode_image(out, max_pixels);
  if (result.width != expected.width || result.height != expected.height || result.rgb != expected.rgb ||
      !picture_of(out).empty()) {
    throw Error(ErrorCode::unsupported, "its metadata cannot be stripped without changing its pixels");
  }
  return out;
}

std::vector<std::byte> with_metadata_of(Bytes original, bool oriented, std::vector<std::byte> image) {
  const ImagePieces from = image_pieces(original);
  const ImagePieces to = image_pieces(image);
  if (from.kind != to.kind) return image;
  const bool same_colors = probe_image(original).channels == probe_image(image).channels;
  std::vector<std::byte> out;
  out.reserve(image.size() + original.size());
  append(out, Bytes(image).first(to.insert_at));
  for (const Piece& piece : from.pieces) {
    if (piece.use != PieceUse::metadata && (piece.use != PieceUse::profile || !same_colors)) continue;
    if (oriented) {
      append_without_orientation(out, original, piece, from.kind);
    } else {
      append(out, original.subspan(piece.begin, piece.end - piece.begin));
    }
  }
  append(out, Bytes(image).subspan(to.insert_at));
  if (oriented && exif_orientation(out) != 1) {
    throw Error(ErrorCode::unsupported, "orientation applied, but its tag cannot be removed");
  }
  return out;
}

}  // namespace bale
