// Color adjustments of RGB pixels, in place. `rgb` holds `num_pixels` pixels of three bytes, without gaps.
//
// The results are Pillow's and torchvision's bit for bit, on every CPU.
// Threads: pure functions; may be called from any thread. They never throw.
// Source: Pillow's ImageEnhance (Blend.c) and Convert.c, torchvision's adjust_hue for PIL images.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bale {

/// Blends with black: ImageEnhance.Brightness. Factor 0 gives black, 1 changes nothing, more is brighter.
void adjust_brightness(std::uint8_t* rgb, std::size_t num_pixels, double factor);
/// The mean gray level of these pixels, rounded: what adjust_contrast() blends with. 0 if there are none.
std::uint8_t mean_gray(const std::uint8_t* rgb, std::size_t num_pixels);
/// Blends with the mean gray level of these pixels: ImageEnhance.Contrast. Factor 0 gives gray, 1 changes nothing.
void adjust_contrast(std::uint8_t* rgb, std::size_t num_pixels, double factor);
/// Blends each pixel with its gray level: ImageEnhance.Color. Factor 0 gives gray, 1 changes nothing.
void adjust_saturation(std::uint8_t* rgb, std::size_t num_pixels, double factor);
/// Shifts the hue by `turn` of the color circle, -0.5 to 0.5: torchvision.transforms.functional.adjust_hue for PIL
/// images.
void adjust_hue(std::uint8_t* rgb, std::size_t num_pixels, double turn);
/// Pillow's convert("L") in all three channels: torchvision's rgb_to_grayscale(image, 3).
void make_gray(std::uint8_t* rgb, std::size_t num_pixels);
/// Pillow's convert("L"): one byte per pixel at `gray`, which may be `rgb` or lie before it.
void gray_of(const std::uint8_t* rgb, std::size_t num_pixels, std::uint8_t* gray);

}  // namespace bale
