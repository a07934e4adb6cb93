#include "bale/formats/image/codec/codec.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <new>

#include <fmt/format.h>

#include "bale/formats/base/codec/array_header.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/image/codec/whole_codec.hpp"

namespace bale::image_detail {
namespace {

bool is_rgb(const ArrayHeader& header) {
  constexpr std::uint64_t k_limit = std::numeric_limits<std::uint32_t>::max();
  const auto& shape = header.shape;
  return header.type == "|u1" && !header.fortran_order && shape.size() == 3 && shape[0] <= k_limit &&
         shape[1] <= k_limit && shape[2] == 3;
}

}  // namespace

ImageHeader probe_array(Bytes bytes) {
  ImageHeader out{.kind = ImageKind::array};
  const auto header = parse_array_header(bytes);
  if (!header || !is_rgb(*header)) return out;
  out.height = static_cast<std::uint32_t>(header->shape[0]);
  out.width = static_cast<std::uint32_t>(header->shape[1]);
  out.channels = 3;
  return out;
}

std::size_t array_pixels_offset(Bytes bytes) {
  const auto header = parse_array_header(bytes);
  if (!header) fail_array_header(bytes);
  if (header->fortran_order) {
    throw Error(ErrorCode::unsupported, "array in Fortran order", {.hint = "save it with numpy.ascontiguousarray()"});
  }
  if (!is_rgb(*header)) {
    throw Error(ErrorCode::unsupported, fmt::format("array of shape ({}) and type {}, not height x width x 3 bytes",
                                                    joined(header->shape), printable(header->type)));
  }
  const auto expected = num_elements(*header);
  if (!expected || bytes.size() - header->data_offset != *expected) {
    throw Error(ErrorCode::damaged, fmt::format("array: {} bytes of pixels, but its shape is ({})",
                                                bytes.size() - header->data_offset, joined(header->shape)));
  }
  return header->data_offset;
}

const WholeCodec* whole_codec(ImageKind kind) {
  switch (kind) {
    case ImageKind::bmp:
      return &k_bmp_codec;
    case ImageKind::pnm:
      return &k_pnm_codec;
    case ImageKind::gif:
      return &k_gif_codec;
    case ImageKind::webp:
      return &k_webp_codec;
    case ImageKind::tiff:
      return &k_tiff_codec;
#ifdef BALE_HAS_AVIF
    case ImageKind::avif:
      return &k_avif_codec;
#endif
#ifdef BALE_HAS_JXL
    case ImageKind::jxl:
      return &k_jxl_codec;
#endif
    default:
      return nullptr;
  }
}

std::string_view missing_library(ImageKind kind) {
  if (whole_codec(kind) != nullptr) return {};
  if (kind == ImageKind::avif) return "libavif";
  if (kind == ImageKind::jxl) return "libjxl";
  return {};
}

void fail_not_gray_16() {
  throw Error(ErrorCode::unsupported, "not an image of 16-bit gray, which mode I;16 needs",
              {.hint = "use mode L or RGB for images of 8 bits"});
}

namespace {

// A limit that we set is not a lack of memory: "Memory allocation of 9 bytes is beyond the 8 byte limit".
constexpr std::array<std::string_view, 4> k_memory_texts{"emory", "No space for", "ailed to allocate",
                                                         "annot allocate"};
constexpr std::array<std::string_view, 6> k_unknown_texts{"not configured", "not support",        "nsupported",
                                                          "an not handle",  "unhandled critical", "Sorry"};

template <std::size_t n>
bool has_any(std::string_view text, const std::array<std::string_view, n>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

}  // namespace

void fail_as_library_says(std::string_view kind, std::string_view text) {
  if (has_any(text, k_memory_texts) && text.find("limit") == std::string_view::npos) throw std::bad_alloc();
  if (has_any(text, k_unknown_texts)) {
    throw Error(ErrorCode::unsupported, fmt::format("{}: {}", kind, text),
                {.hint = "convert it to a plain PNG or JPEG"});
  }
  throw Error(ErrorCode::damaged, fmt::format("{}: {}", kind, text));
}

}  // namespace bale::image_detail
