// Colour adjustments of 8-bit RGB pixels in Pillow's arithmetic, bit for bit (ImageEnhance, and torchvision's
// adjust_hue over Pillow's HSV). In place, `num_pixels` pixels of three bytes. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bale {

/// Towards black (factor < 1) or away from it: ImageEnhance.Brightness.
void adjust_brightness(std::uint8_t* rgb, std::size_t num_pixels, double factor);
/// Towards the mean grey level of these pixels or away from it: ImageEnhance.Contrast.
void adjust_contrast(std::uint8_t* rgb, std::size_t num_pixels, double factor);
/// Towards grey or away from it: ImageEnhance.Color.
void adjust_saturation(std::uint8_t* rgb, std::size_t num_pixels, double factor);
/// Turns the hue by `turn` of the circle, -0.5 to 0.5: torchvision.transforms.functional.adjust_hue on a PIL image.
void adjust_hue(std::uint8_t* rgb, std::size_t num_pixels, double turn);
/// Pillow's convert("L"), in all three channels: torchvision's rgb_to_grayscale(image, 3).
void make_grey(std::uint8_t* rgb, std::size_t num_pixels);

}  // namespace bale
