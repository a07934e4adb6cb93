#include "bale/formats/image/color.hpp"

#include "bale/formats/image/color/color_change.hpp"

namespace bale {
namespace {

void change(const image_detail::ColorChange& one, std::uint8_t* rgb, std::size_t num_pixels) {
  image_detail::change_colors({&one, 1}, rgb, num_pixels);
}

}  // namespace

void adjust_brightness(std::uint8_t* rgb, std::size_t num_pixels, double factor) {
  change(image_detail::blend_change(0, factor), rgb, num_pixels);
}

void adjust_contrast(std::uint8_t* rgb, std::size_t num_pixels, double factor) {
  change(image_detail::blend_change(mean_gray(rgb, num_pixels), factor), rgb, num_pixels);
}

void adjust_saturation(std::uint8_t* rgb, std::size_t num_pixels, double factor) {
  change(image_detail::saturation_change(factor), rgb, num_pixels);
}

void adjust_hue(std::uint8_t* rgb, std::size_t num_pixels, double turn) {
  change(image_detail::hue_change(turn), rgb, num_pixels);
}

void make_gray(std::uint8_t* rgb, std::size_t num_pixels) { change(image_detail::GrayChange{}, rgb, num_pixels); }

}  // namespace bale
