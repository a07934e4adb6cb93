#include "bale/formats/image/image_check.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/codec/codec.hpp"
#include "bale/formats/image/codec/whole_codec.hpp"
#include "bale/formats/image/jpeg/header/jpeg_markers.hpp"
#include "bale/formats/image/jpeg/library/jpeg_decoder.hpp"
#include "bale/formats/image/metadata/image_pieces.hpp"

namespace bale {
namespace {

struct Signature {
  std::string_view name;
  std::size_t offset;
  std::string_view bytes;
};

template <std::size_t size>
constexpr std::string_view bytes(const char (&text)[size]) {
  return {text, size - 1};  // including the NULs
}

// The first match counts, so a brand comes before its container.
constexpr std::array k_signatures{
    Signature{"HEIF", 4, "ftyphei"},
    Signature{"HEIF", 4, "ftyphev"},
    Signature{"HEIF", 4, "ftypmif1"},
    Signature{"HEIF", 4, "ftypmsf1"},
    Signature{"MP4 video", 4, "ftyp"},
    Signature{"JPEG 2000", 0, bytes("\0\0\0\x0CjP  \r\n\x87\n")},
    Signature{"JPEG 2000", 0, "\xFF\x4F\xFF\x51"},
    Signature{"JPEG XR", 0, "II\xBC"},
    Signature{"ICO", 0, bytes("\0\0\1\0")},
    Signature{"CUR", 0, bytes("\0\0\2\0")},
    Signature{"Photoshop", 0, "8BPS"},
    Signature{"OpenEXR", 0, "\x76\x2F\x31\x01"},
    Signature{"Radiance HDR", 0, "#?RADIANCE"},
    Signature{"DDS", 0, "DDS "},
    Signature{"QOI", 0, "qoif"},
    Signature{"PDF", 0, "%PDF-"},
    Signature{"SVG", 0, "<svg"},
    Signature{"XML", 0, "<?xml"},
    Signature{"HTML", 0, "<!DOCTYPE"},
    Signature{"HTML", 0, "<!doctype"},
    Signature{"HTML", 0, "<html"},
    Signature{"HTML", 0, "<HTML"},
    Signature{k_lfs_pointer, 0, "version https://git-lfs.github.com/spec/"},
    Signature{"zip", 0, "PK\x03\x04"},
    Signature{"gzip", 0, "\x1F\x8B"},
};

// TGA has no signature at its start; version 2 has a footer.
constexpr std::string_view k_tga_footer = bytes("TRUEVISION-XFILE.\0");

}  // namespace

std::string_view name_by_signature(Bytes file) {
  const std::string_view text = as_text(file);
  if (text.ends_with(k_tga_footer)) return "TGA";  // first: a TGA may begin with CUR's signature
  // Web pages may begin with empty lines.
  const std::string_view markup = text.substr(std::min(text.find_first_not_of("\xEF\xBB\xBF \t\r\n"), text.size()));
  const auto fits = [&](const Signature& signature) {
    if (signature.bytes.front() == '<') return markup.starts_with(signature.bytes);
    return text.size() >= signature.offset && text.substr(signature.offset).starts_with(signature.bytes);
  };
  const auto found = std::find_if(k_signatures.begin(), k_signatures.end(), fits);
  return found != k_signatures.end() ? found->name : std::string_view();
}

bool can_decode(ImageKind kind) {
  return kind == ImageKind::jpeg || kind == ImageKind::png || kind == ImageKind::array ||
         image_detail::whole_codec(kind) != nullptr;
}

namespace {

/// Throws if the header cannot be decoded.
bool has_end(Bytes image, ImageKind kind) {
  if (kind == ImageKind::array) {
    image_detail::array_pixels_offset(image);
    return true;
  }
  if (kind == ImageKind::png) return image_detail::pieces_have_end(image);
  if (const image_detail::WholeCodec* const codec = image_detail::whole_codec(kind)) {
    if (!codec->has_end(image)) return false;
    codec->open(image, std::numeric_limits<std::uint64_t>::max());  // the limit is not for this check to apply
    return true;
  }
  if (const auto scan = image_detail::plain_jpeg_scan(image)) return image_detail::jpeg_scan_has_end(*scan);
  image_detail::JpegDecoder decoder;
  decoder.open(image);
  // A file with many scans may lack some of them and still have an end marker. It is accepted.
  return decoder.reads_all_scans() ? image_detail::pieces_have_end(image)
                                   : image_detail::jpeg_scan_has_end(decoder.scan());
}

}  // namespace

ImageFacts check_image(Bytes image, ImageCheck check, std::uint64_t max_pixels) {
  const ImageHeader header = probe_image(image);
  ImageFacts facts{.width = header.width, .height = header.height};
  const bool is_other = !can_decode(header.kind) || (header.kind == ImageKind::array && header.width == 0);
  if (is_other && check == ImageCheck::quick) return facts;
  bool complete = true;
  try {
    complete = is_other || has_end(image, header.kind);
    if (!complete || check == ImageCheck::decode) decode_image(image, max_pixels);
    facts.condition = ImageCondition::complete;
  } catch (const Error& error) {
    facts.is_supported = error.code() != ErrorCode::unsupported;
    facts.why = error.message();
    if (is_above_limit(header.width, header.height, max_pixels)) return facts;  // another limit may decode it
    // Of an image that is not supported no end was looked for.
    const bool undecodable = complete || !facts.is_supported;
    facts.condition = undecodable ? ImageCondition::undecodable : ImageCondition::incomplete;
  }
  return facts;
}

}  // namespace bale
