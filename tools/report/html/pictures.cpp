#include "bale/tools/report/html/pictures.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/reduced_image.hpp"
#include "bale/tools/report/html/page.hpp"

namespace bale::tools {
namespace {

constexpr std::uint32_t k_picture_px = 144;
constexpr int k_quality = 72;

/// The image without the padding of its last blocks, small enough.
Image shrink(ReducedImage reduced) {
  Image& image = reduced.image;
  const std::uint32_t longer = std::max(image.width, image.height);
  if (longer <= k_picture_px) return std::move(image);
  const auto side = [&](std::uint32_t pixels) {
    return std::max(1U, static_cast<std::uint32_t>(std::uint64_t{pixels} * k_picture_px / longer));
  };
  return resize_image(image, side(image.width), side(image.height));
}

}  // namespace

const std::string_view k_no_picture = "<div class=\"hole\">no picture</div>";

std::string picture_element(Bytes stored, std::uint32_t min_side, std::string_view alt) {
  const std::vector<std::byte> jpeg = encode_jpeg(shrink(decode_reduced(stored, std::max(min_side, 1U))), k_quality);
  return fmt::format("<img alt=\"{}\" src=\"data:image/jpeg;base64,{}\">", html_text(alt), base64(as_text(jpeg)));
}

std::string Pictures::make(std::uint64_t number, std::string_view alt) {
  const std::size_t part = survey_.part_of(number);
  const SampleView sample = survey_.parts[part].source->read(number - survey_.begins[part], scratch_);
  const FieldView* const field = sample.find_image();
  if (field == nullptr) return {};
  const SurveyedImage& image = survey_.images[number];
  // The shorter side of an image whose longer side has k_picture_px pixels.
  const std::uint64_t longer = std::max({image.width, image.height, 1U});
  return picture_element(
      field->bytes,
      static_cast<std::uint32_t>(std::uint64_t{std::min(image.width, image.height)} * k_picture_px / longer), alt);
}

std::string Pictures::element(std::uint64_t number, std::string_view alt) {
  if (survey_.images[number].is_decoded) {
    try {
      std::string picture = make(number, alt);
      if (!picture.empty()) {
        ++count_;
        return picture;
      }
    } catch (const Error& error) {
      if (error.code() == ErrorCode::interrupted || is_lack_of_resources(error)) throw;
    }
  }
  return std::string(k_no_picture);
}

}  // namespace bale::tools
