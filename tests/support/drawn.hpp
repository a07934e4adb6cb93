// The list of transforms that transforms.train() makes in Python, and what it drew, read from its steps.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "bale/loader/transform/transforms.hpp"

namespace bale::test {

struct Training {
  Size size{16, 16};
  Range scale{0.08, 1.0};
  Range ratio{3.0 / 4, 4.0 / 3};
  double flip = 0.5;
  transforms::ColorJitter jitter{};
  double gray = 0;
  Filter filter = Filter::bilinear;
};

inline TransformList training_list(const Training& of) {
  return {transforms::RandomResizedCrop{
              .size = of.size, .scale = of.scale, .ratio = of.ratio, .interpolation = {of.filter}},
          transforms::RandomHorizontalFlip{.p = of.flip}, of.jitter, transforms::RandomGrayscale{.p = of.gray}};
}

struct Drawn {
  Region crop{};
  bool flip = false;
  bool gray = false;
  std::vector<int> order{};                   // of the changes that were drawn, by their numbers in `factors`
  std::array<double, 4> factors{1, 1, 1, 0};  // of brightness, contrast, saturation; turn of the hue
};

inline Drawn drawn(std::span<const Step> steps) {
  Drawn found;
  const auto add = [&found](int number, double factor) {
    found.order.push_back(number);
    found.factors.at(static_cast<std::size_t>(number)) = factor;
  };
  for (const Step& step : steps) {
    if (const auto* crop = std::get_if<step::Crop>(&step)) {
      found.crop = {.x = static_cast<std::uint32_t>(crop->left),
                    .y = static_cast<std::uint32_t>(crop->top),
                    .width = crop->width,
                    .height = crop->height};
    }
    if (const auto* one = std::get_if<step::Brightness>(&step)) add(0, one->factor);
    if (const auto* one = std::get_if<step::Contrast>(&step)) add(1, one->factor);
    if (const auto* one = std::get_if<step::Saturation>(&step)) add(2, one->factor);
    if (const auto* one = std::get_if<step::Hue>(&step)) add(3, one->turn);
    found.flip |= std::holds_alternative<step::HorizontalFlip>(step);
    found.gray |= std::holds_alternative<step::Grayscale>(step);
  }
  return found;
}

/// Of an image of width x height pixels.
inline Drawn drawn(const Training& training, const DrawKey& key, std::uint32_t width, std::uint32_t height) {
  return drawn(draw_steps(training_list(training), key, width, height));
}

}  // namespace bale::test
