#include "bale/tools/survey/examined_image.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/image_check.hpp"
#include "bale/formats/image/metadata/metadata.hpp"
#include "bale/formats/image/similarity/frequency_hash.hpp"

namespace bale {
namespace {

struct Texts {
  std::string_view name;
  std::string_view title;
  std::string_view reason;
};

constexpr std::array<Texts, k_num_remarks> k_texts{{
    {"unreadable", "Cannot be read", "The file or the record is damaged or gone."},
    {"no_image", "No image", "The sample has no image, or one of 0 bytes."},
    {"unknown_kind", "Not an image", "The bytes are not an image of a kind that bale decodes."},
    {"truncated", "Truncated", "The image ends before all of its pixels are there."},
    {"undecodable", "Cannot be decoded", "The decoder reports an error."},
    {"above_limit", "Above the limit of pixels", "Loaders stop at an image of more pixels than their limit."},
    {"corrupt_data", "Corrupt data", "Decoders tolerate the damage without a message, and some pixels are wrong."},
    {"wrong_extension", "Wrong extension",
     "The content is of another kind than the name says. Decoders look at the content; "
     "other tools may believe the name."},
    {"blank", "Blank", "The image is one flat color or nearly so."},
    {"tiny", "Tiny", "A side is shorter than 32 pixels."},
    {"huge", "Huge", "The image has more than 25 million pixels, which makes decoding slow."},
    {"elongated", "Elongated",
     "One side is at least five times as long as the other, so that a crop shows little of it."},
    {"gray", "Gray", "The image has no colors, although most of the others do."},
    {"cmyk", "CMYK", "A JPEG of four components. Some decoders refuse it or show false colors."},
    {"oriented", "Orientation set",
     "Metadata say that the image is to be turned or mirrored. Most training pipelines ignore "
     "that; `bale pack --orient` applies it."},
    {"arithmetic", "Arithmetic coding", "A JPEG that many programs cannot read."},
}};

const Texts& texts_of(Remark remark) { return k_texts[static_cast<std::size_t>(remark)]; }

constexpr double k_min_contrast = 2.0;
// Chroma of a gray image comes from a JPEG with this error at most.
constexpr int k_gray_tolerance = 5;

/// The kinds that a name may have.
constexpr std::array<std::pair<std::string_view, ImageKind>, 17> k_names{{
    {"jpg", ImageKind::jpeg},
    {"jpeg", ImageKind::jpeg},
    {"jpe", ImageKind::jpeg},
    {"jfif", ImageKind::jpeg},
    {"png", ImageKind::png},
    {"bmp", ImageKind::bmp},
    {"gif", ImageKind::gif},
    {"webp", ImageKind::webp},
    {"tif", ImageKind::tiff},
    {"tiff", ImageKind::tiff},
    {"ppm", ImageKind::pnm},
    {"pgm", ImageKind::pnm},
    {"pbm", ImageKind::pnm},
    {"pnm", ImageKind::pnm},
    {"avif", ImageKind::avif},
    {"jxl", ImageKind::jxl},
    {"jp2", ImageKind::unknown},
}};

bool contradicts(std::string_view name, ImageKind kind) {
  name.remove_prefix(std::min(name.rfind('.') + 1, name.size()));  // "mask.png"; npos + 1 is 0
  const auto named = std::find_if(k_names.begin(), k_names.end(), [&](const auto& one) { return one.first == name; });
  return named != k_names.end() && kind != ImageKind::array && named->second != kind;
}

bool is_gray(const Image& image) {
  for (std::size_t at = 0; at + 2 < image.rgb.size(); at += 3) {
    const int red = image.rgb[at];
    const int green = image.rgb[at + 1];
    const int blue = image.rgb[at + 2];
    if (std::abs(red - green) > k_gray_tolerance || std::abs(green - blue) > k_gray_tolerance) return false;
  }
  return true;
}

void remark_sizes(ExaminedImage& examined) {
  const std::uint64_t shorter = std::min(examined.width, examined.height);
  const std::uint64_t longer = std::max(examined.width, examined.height);
  if (shorter == 0) return;
  if (shorter < k_tiny_side) examined.remarks.add(Remark::tiny);
  if (shorter * longer > k_huge_pixels) examined.remarks.add(Remark::huge);
  if (longer >= shorter * k_elongated) examined.remarks.add(Remark::elongated);
}

void decode(Bytes image, std::uint64_t max_pixels, ExaminedImage& examined) {
  const ReducedImage reduced = decode_reduced(image, k_thumbprint_min_side, max_pixels);
  examined.width = reduced.full_width;
  examined.height = reduced.full_height;
  examined.print = make_thumbprint(reduced);
  examined.is_decoded = true;
  if (reduced.has_defects) examined.remarks.add(Remark::corrupt_data);
  if (is_gray(reduced.image)) examined.remarks.add(Remark::gray);
  if (examined.print.contrast() < k_min_contrast) {
    examined.remarks.add(Remark::blank);
  } else {
    examined.hash = hash_of(examined.print).bits;
  }
}

}  // namespace

std::string_view remark_name(Remark remark) { return texts_of(remark).name; }
std::string_view remark_title(Remark remark) { return texts_of(remark).title; }
std::string_view remark_reason(Remark remark) { return texts_of(remark).reason; }

ExaminedImage examine_image(Bytes image, std::string_view name, std::uint64_t max_pixels) {
  ExaminedImage examined{.bytes = image.size()};
  if (image.empty()) {
    examined.remarks.add(Remark::no_image);
    return examined;
  }
  DigestStream digest;
  digest.update(image);
  examined.digest = digest.digest();
  const ImageHeader header = probe_image(image);
  examined.kind = header.kind;
  examined.width = header.width;
  examined.height = header.height;
  if (header.kind == ImageKind::unknown) {
    examined.remarks.add(Remark::unknown_kind);
    return examined;
  }
  if (contradicts(name, header.kind)) examined.remarks.add(Remark::wrong_extension);
  if (header.kind == ImageKind::jpeg) {
    examined.coding = read_jpeg_coding(image);
    if (examined.coding.components == 4) examined.remarks.add(Remark::cmyk);
    if (examined.coding.is_arithmetic) examined.remarks.add(Remark::arithmetic);
  }
  examined.orientation = static_cast<std::uint8_t>(exif_orientation(image));
  if (examined.orientation != 1) examined.remarks.add(Remark::oriented);
  try {
    decode(image, max_pixels, examined);
  } catch (const Error& error) {
    const bool is_cut = check_image(image, ImageCheck::quick, max_pixels).condition == ImageCondition::incomplete;
    const bool is_large = is_above_limit(header.width, header.height, max_pixels);
    examined.remarks.add(is_large ? Remark::above_limit : is_cut ? Remark::truncated : Remark::undecodable);
    examined.why = error.message();
  }
  remark_sizes(examined);
  return examined;
}

}  // namespace bale
