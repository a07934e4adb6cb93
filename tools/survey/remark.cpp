#include "bale/tools/survey/remark.hpp"

#include <array>

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

}  // namespace

std::string_view remark_name(Remark remark) { return texts_of(remark).name; }
std::string_view remark_title(Remark remark) { return texts_of(remark).title; }
std::string_view remark_reason(Remark remark) { return texts_of(remark).reason; }

}  // namespace bale
