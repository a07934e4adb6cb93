#include "bale/loader/transform/steps/color_run.hpp"

#include "bale/loader/transform/geometry/size_after.hpp"

namespace bale::transform_detail {

using image_detail::ColorChange;
using image_detail::Histogram;
using image_detail::PointChange;
using image_detail::PointTable;

namespace {

/// The counts of the values that the tables give.
Histogram counts_after(const PointChange& change, const Histogram& before) {
  Histogram counts{};
  for (std::size_t channel = 0; channel < 3; ++channel) {
    for (std::size_t value = 0; value < 256; ++value) {
      counts[channel][change.tables[channel][value]] += before[channel][value];
    }
  }
  return counts;
}

}  // namespace

bool ColorRun::takes(const Step& step) {
  return std::visit(
      [](const auto& one) {
        return requires(ColorRun & run, const RgbPixels& pixels) { run.add_step(one, pixels); };
      },
      step);
}

void ColorRun::add(const Step& step, const RgbPixels& pixels) {
  std::visit(
      [&](const auto& one) {
        if constexpr (requires { this->add_step(one, pixels); }) this->add_step(one, pixels);
      },
      step);
}

void ColorRun::finish(const RgbPixels& pixels) {
  if (!changes_.empty()) image_detail::change_colors(changes_, pixels.rgb, pixels.count);
  clear();
}

void ColorRun::clear() {
  changes_.clear();
  counts_.reset();
}

/// A change whose result depends on more than one value: it makes the counts unknown.
void ColorRun::add_change(const ColorChange& change) {
  changes_.push_back(change);
  counts_.reset();
}

void ColorRun::compose(const PointTable& table) { compose(PointChange{.tables = {table, table, table}}); }

void ColorRun::compose(const PointChange& change) {
  auto* const last = changes_.empty() ? nullptr : std::get_if<PointChange>(&changes_.back());
  if (last != nullptr) {
    *last = composed(*last, change);
  } else {
    changes_.push_back(change);
  }
  if (counts_) counts_ = counts_after(change, *counts_);
}

template <typename TableOf>
void ColorRun::add_by_counts(const TableOf& table_of, const RgbPixels& pixels) {
  if (!counts_) {
    // The counts of the pixels go through tables, but not through other changes.
    const bool is_of_tables = changes_.size() == 1 && std::holds_alternative<PointChange>(changes_.front());
    if (!is_of_tables) finish(pixels);
    counts_ = image_detail::histogram_of(pixels.rgb, pixels.count);
    if (is_of_tables) counts_ = counts_after(std::get<PointChange>(changes_.front()), *counts_);
  }
  compose(PointChange{.tables = {table_of((*counts_)[0]), table_of((*counts_)[1]), table_of((*counts_)[2])}});
}

void ColorRun::add_step(const step::Brightness& brightness, const RgbPixels&) {
  check_finite("Brightness", brightness.factor);
  compose(image_detail::blend_change(0, brightness.factor));
}

void ColorRun::add_step(const step::Contrast& contrast, const RgbPixels& pixels) {
  check_finite("Contrast", contrast.factor);
  // The mean is of rounded gray levels of the pixels, which no table knows.
  const std::uint8_t mean = image_detail::mean_gray_after(changes_, pixels.rgb, pixels.count);
  changes_.clear();
  compose(image_detail::blend_change(mean, contrast.factor));
}

void ColorRun::add_step(const step::Saturation& saturation, const RgbPixels&) {
  check_finite("Saturation", saturation.factor);
  if (saturation.factor != 1) add_change(image_detail::saturation_change(saturation.factor));
}

void ColorRun::add_step(const step::Hue& hue, const RgbPixels&) {
  check_that(-0.5 <= hue.turn && hue.turn <= 0.5, "Hue", "turn must be within [-0.5, 0.5]");
  add_change(image_detail::hue_change(hue.turn));
}

void ColorRun::add_step(const step::Grayscale&, const RgbPixels&) { add_change(image_detail::GrayChange{}); }

void ColorRun::add_step(const step::Invert&, const RgbPixels&) { compose(image_detail::invert_table()); }

void ColorRun::add_step(const step::Solarize& solarize, const RgbPixels&) {
  check_finite("Solarize", solarize.threshold);
  compose(image_detail::solarize_table(solarize.threshold));
}

void ColorRun::add_step(const step::SolarizeAdd& solarize, const RgbPixels&) {
  compose(image_detail::solarize_add_table(solarize.add, solarize.threshold));
}

void ColorRun::add_step(const step::Posterize& posterize, const RgbPixels&) {
  check_that(posterize.bits <= 8, "Posterize", "bits must be 0 to 8");
  compose(image_detail::posterize_table(posterize.bits));
}

void ColorRun::add_step(const step::Equalize&, const RgbPixels& pixels) {
  add_by_counts(image_detail::equalize_table, pixels);
}

void ColorRun::add_step(const step::AutoContrast&, const RgbPixels& pixels) {
  add_by_counts(image_detail::auto_contrast_table, pixels);
}

}  // namespace bale::transform_detail
