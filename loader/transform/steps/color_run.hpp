// A run of steps that change colors, each pixel for itself. They are collected, and the picture is changed once, at the
// end of the run. Neighboring ones whose result is a function of the value and its channel are composed into one table
// per channel.
//
// Threads: used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "bale/formats/image/color/color_change.hpp"
#include "bale/loader/transform/step.hpp"

namespace bale::transform_detail {

/// Pixels of three bytes, without gaps. Borrows.
struct RgbPixels {
  std::uint8_t* rgb = nullptr;
  std::size_t count = 0;
};

class ColorRun {
 public:
  /// Whether a step is of this kind.
  static bool takes(const Step& step);
  /// Adds a step that the run takes. `pixels` are those that the run is about; they are changed only if a step needs
  /// what the run so far makes of them.
  void add(const Step& step, const RgbPixels& pixels);
  /// Changes the pixels by what was added, and starts again. Must be called before anything else changes the pixels.
  void finish(const RgbPixels& pixels);
  /// Forgets what was added.
  void clear();

 private:
  void add_step(const step::Brightness& brightness, const RgbPixels& pixels);
  void add_step(const step::Contrast& contrast, const RgbPixels& pixels);
  void add_step(const step::Saturation& saturation, const RgbPixels& pixels);
  void add_step(const step::Hue& hue, const RgbPixels& pixels);
  void add_step(const step::Grayscale&, const RgbPixels& pixels);
  void add_step(const step::Invert&, const RgbPixels& pixels);
  void add_step(const step::Solarize& solarize, const RgbPixels& pixels);
  void add_step(const step::SolarizeAdd& solarize, const RgbPixels& pixels);
  void add_step(const step::Posterize& posterize, const RgbPixels& pixels);
  void add_step(const step::Equalize&, const RgbPixels& pixels);
  void add_step(const step::AutoContrast&, const RgbPixels& pixels);

  void add_change(const image_detail::ColorChange& change);
  void compose(const image_detail::PointChange& change);
  void compose(const image_detail::PointTable& table);
  template <typename TableOf>
  void add_by_counts(const TableOf& table_of, const RgbPixels& pixels);

  std::vector<image_detail::ColorChange> changes_{};
  std::optional<image_detail::Histogram> counts_{};  // of the values after the changes
};

}  // namespace bale::transform_detail
