#include "bale/writer/edits/image_edits.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/codec/array_header.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/image/metadata/metadata.hpp"
#include "bale/formats/shard/sample/key.hpp"

namespace bale {
namespace {

struct Size {
  std::uint32_t width;
  std::uint32_t height;
  friend bool operator==(const Size&, const Size&) = default;
};

/// As torchvision's Resize: the other side is truncated to an integer. Images are never enlarged.
Size wanted_size(const ImageEdits& edits, Size size) {
  const std::uint32_t side =
      edits.resize_short != 0 ? std::min(size.width, size.height) : std::max(size.width, size.height);
  const std::uint32_t limit = edits.resize_short != 0 ? edits.resize_short : edits.resize_max;
  if (limit == 0 || side <= limit) return size;
  const auto scaled = [&](std::uint32_t length) {
    const double exact = static_cast<double>(std::uint64_t{limit} * length) / side;
    return std::max(static_cast<std::uint32_t>(exact), 1U);
  };
  return {scaled(size.width), scaled(size.height)};
}

bool same_pixels(const Image& a, const Image& b) {
  return a.width == b.width && a.height == b.height && a.rgb == b.rgb;
}

}  // namespace

std::map<std::string, std::string> describe_edits(const ImageEdits& edits, bool as_pixels) {
  std::map<std::string, std::string> out;
  if (edits.resize_short != 0) out["resize_short"] = fmt::to_string(edits.resize_short);
  if (edits.resize_max != 0) out["resize_max"] = fmt::to_string(edits.resize_max);
  if (edits.resizes()) out["filter"] = "bilinear, as Pillow 13";
  if (edits.orient) out["orient"] = "exif";
  if (edits.strip_metadata) out["metadata"] = "stripped";
  if (edits.jpeg_lossless) out["jpeg_coding"] = "baseline, one scan, Huffman tables of its own; pixels as they were";
  if ((edits.resizes() || edits.orient) && !as_pixels) {
    out["jpeg_quality"] = fmt::to_string(edits.quality.value_or(ImageEdits::k_default_quality));
    out["jpeg_encoder"] = fmt::format("{}, baseline, 4:2:0, {} Huffman tables", jpeg_encoder_name(),
                                      edits.jpeg_lossless ? "optimised" : "standard");
  }
  return out;
}

void check_edits(const ImageEdits& edits) {
  constexpr std::uint32_t k_max_side = 65'535;
  const auto refuse = [](const std::string& what) { throw Error(ErrorCode::invalid_argument, what); };
  if (edits.resize_short != 0 && edits.resize_max != 0) refuse("`resize_short` and `resize_max` exclude each other");
  if (edits.resize_short > k_max_side || edits.resize_max > k_max_side) {
    refuse(fmt::format("images cannot be resized to more than {} pixels a side", k_max_side));
  }
  if (!edits.quality) return;
  if (*edits.quality < 1 || *edits.quality > 100) {
    refuse(fmt::format("quality {} is not within 1..100", *edits.quality));
  }
  if (!edits.resizes() && !edits.orient) {
    refuse("`quality` needs `resize_short`, `resize_max` or `orient`");
  }
}

void require_one_image(const SampleView& sample) {
  const FieldView* const image = sample.find_image();
  for (const FieldView& field : sample.fields) {
    // The last extension decides: mask.png is an image.
    const std::string_view extension = field.name.substr(field.name.rfind('.') + 1);
    const bool has_pixels = field.name.starts_with("boxes.") || field.name.starts_with("keypoints.");
    if (image == nullptr || &field == image || (!is_image_field(extension) && !has_pixels)) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("resizing or rotating the image would misalign its {}", printable(field.name)),
                {.hint = "resize or turn both before packing them"});
  }
}

SampleView ImageEditor::apply(const SampleView& sample) {
  const FieldView* const image = sample.find_image();
  if (image == nullptr || !edit(*image)) return sample;
  fields_.assign(sample.fields.begin(), sample.fields.end());
  fields_[static_cast<std::size_t>(image - sample.fields.data())] = {name_, bytes_};
  SampleView edited = sample;
  edited.fields = fields_;
  edited.width = width_;
  edited.height = height_;
  return edited;
}

/// Returns false if the image stays unchanged.
bool ImageEditor::edit(const FieldView& field) {
  if (as_pixels_) {  // the layout decodes it
    const ImageHeader header = probe_image(field.bytes);
    if (header.width != 0 && header.height != 0) check_pixel_budget(header.width, header.height, max_pixels_);
  }
  const bool changed = (edits_.resizes() || edits_.orient || edits_.strip_metadata) && edit_content(field);
  if (!edits_.jpeg_lossless) return changed;
  const Bytes recoded = lossless_.make(changed ? Bytes(bytes_) : field.bytes, max_pixels_);
  if (recoded.empty()) return changed;
  bytes_.assign(recoded.begin(), recoded.end());
  if (changed) return true;
  const ImageHeader header = probe_image(bytes_);
  name_ = field.name;
  width_ = header.width;
  height_ = header.height;
  return true;
}

/// Edits size, orientation and metadata. Returns false if the image stays unchanged.
bool ImageEditor::edit_content(const FieldView& field) {
  const ImageHeader header = probe_image(field.bytes);
  // An array that does not hold pixels, such as features or a mask.
  if (header.kind == ImageKind::array && header.width == 0) return false;
  if (header.kind == ImageKind::unknown) throw Error(ErrorCode::unsupported, "not an image of a known kind");
  if (header.width == 0 || header.height == 0) throw Error(ErrorCode::damaged, "an image whose header has no size");
  const bool known = header.kind == ImageKind::jpeg || header.kind == ImageKind::png || header.kind == ImageKind::array;
  if (edits_.strip_metadata && !known) {
    throw Error(ErrorCode::unsupported,
                fmt::format("the metadata of {} images cannot be stripped; JPEG's and PNG's can",
                            image_kind_name(header.kind)));
  }
  const int orientation = edits_.orient ? exif_orientation(field.bytes) : 1;
  const bool fits = wanted_size(edits_, {header.width, header.height}) == Size{header.width, header.height};
  if (fits && orientation == 1) {
    return edits_.strip_metadata && strip(field, header);
  }
  // Orientation is applied first, so that rows and columns are those that Pillow resizes.
  const Image upright = apply_orientation(decode_image(field.bytes, max_pixels_), orientation);
  const Size size = wanted_size(edits_, {upright.width, upright.height});
  encode(field, header, fits ? upright : resized(upright, size.width, size.height), orientation != 1);
  return true;
}

/// Returns false if there is nothing to strip.
bool ImageEditor::strip(const FieldView& field, const ImageHeader& header) {
  bytes_ = strip_metadata(field.bytes, max_pixels_);
  if (bytes_.empty()) return false;
  name_ = field.name;
  width_ = header.width;
  height_ = header.height;
  return true;
}

Image ImageEditor::resized(const Image& image, std::uint32_t width, std::uint32_t height) {
  Image out{.width = width, .height = height};
  out.rgb.resize(std::size_t{width} * height * 3);
  resizer_.run(resize_whole(image.width, image.height, width, height),
               {image.rgb.data(), std::size_t{image.width} * 3, image.width, image.height}, out.rgb.data(),
               std::size_t{width} * 3);
  return out;
}

/// Encodes as the kind that the field's name says, else as the original kind, else as PNG.
void ImageEditor::encode(const FieldView& original, const ImageHeader& header, const Image& image, bool oriented) {
  name_ = original.name;
  width_ = image.width;
  height_ = image.height;
  if (as_pixels_ || original.name == k_array_field) {
    const std::uint64_t shape[] = {image.height, image.width, 3};
    const std::string head = array_header_text("|u1", shape);
    const auto* const pixels = reinterpret_cast<const std::byte*>(image.rgb.data());
    bytes_.assign(as_bytes(head).begin(), as_bytes(head).end());
    bytes_.insert(bytes_.end(), pixels, pixels + image.rgb.size());
    name_ = k_array_field;
    return;
  }
  const bool keeps_kind = original.name == "jpg" || original.name == "png" || header.kind == ImageKind::jpeg ||
                          header.kind == ImageKind::png || header.kind == ImageKind::array;
  if (!keeps_kind) name_ = k_encoded_field;  // bale encodes JPEG and PNG only
  const bool jpeg = original.name == "jpg" || (original.name != "png" && header.kind == ImageKind::jpeg);
  const bool gray = header.kind == ImageKind::jpeg && header.channels == 1;
  const std::vector<std::byte> encoded =
      jpeg ? encode_jpeg(image, edits_.quality.value_or(ImageEdits::k_default_quality),
                         gray ? JpegColors::gray : JpegColors::color)
           : encode_png(image);
  bytes_ = edits_.strip_metadata ? encoded : with_metadata_of(original.bytes, oriented, encoded);
  // A JPEG may lose only what its quality setting costs. A PNG may lose nothing.
  const Image result = decode_image(bytes_, max_pixels_);
  const bool good = jpeg ? same_pixels(result, decode_image(encoded, max_pixels_)) : same_pixels(result, image);
  if (!good || result.width != width_ || result.height != height_) {
    throw Error(ErrorCode::unsupported, "the image that was made of it does not decode to the same pixels");
  }
}

}  // namespace bale
