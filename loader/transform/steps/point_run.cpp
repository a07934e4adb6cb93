#include "bale/loader/transform/steps/point_run.hpp"

#include "bale/formats/image/color.hpp"
#include "bale/loader/transform/draw/step_limits.hpp"

namespace bale::transform_detail {

using image_detail::Histogram;
using image_detail::PointTable;
using image_detail::PointTables;

namespace {

std::size_t num_pixels(const Picture& picture) { return std::size_t{picture.width} * picture.height; }

}  // namespace

bool PointRun::add(const Step& step, Picture& picture) {
  if (const auto* brightness = std::get_if<step::Brightness>(&step)) {
    check_finite("Brightness", brightness->factor);
    compose(image_detail::blend_table(0, brightness->factor));
  } else if (const auto* contrast = std::get_if<step::Contrast>(&step)) {
    add_contrast(contrast->factor, picture);
  } else if (std::holds_alternative<step::Invert>(step)) {
    compose(image_detail::invert_table());
  } else if (const auto* solarize = std::get_if<step::Solarize>(&step)) {
    check_finite("Solarize", solarize->threshold);
    compose(image_detail::solarize_table(solarize->threshold));
  } else if (const auto* solarize_add = std::get_if<step::SolarizeAdd>(&step)) {
    compose(image_detail::solarize_add_table(solarize_add->add, solarize_add->threshold));
  } else if (const auto* posterize = std::get_if<step::Posterize>(&step)) {
    check_that(posterize->bits <= 8, "Posterize", "bits must be 0 to 8");
    compose(image_detail::posterize_table(posterize->bits));
  } else if (std::holds_alternative<step::Equalize>(step)) {
    add_by_counts(image_detail::equalize_table, picture);
  } else if (std::holds_alternative<step::AutoContrast>(step)) {
    add_by_counts(image_detail::auto_contrast_table, picture);
  } else {
    return false;
  }
  return true;
}

void PointRun::finish(Picture& picture) {
  if (pending_) image_detail::apply_tables(tables_, picture.pixels.data(), num_pixels(picture));
  pending_ = false;
  counts_.reset();
}

void PointRun::compose(const PointTable& table) { compose({table, table, table}); }

void PointRun::compose(const PointTables& tables) {
  if (!pending_) {
    tables_ = tables;
  } else {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      for (std::uint8_t& value : tables_[channel]) value = tables[channel][value];
    }
  }
  pending_ = true;
  if (!counts_) return;
  Histogram counts{};
  for (std::size_t channel = 0; channel < 3; ++channel) {
    for (std::size_t value = 0; value < 256; ++value) {
      counts[channel][tables[channel][value]] += (*counts_)[channel][value];
    }
  }
  counts_ = counts;
}

void PointRun::add_contrast(double factor, Picture& picture) {
  check_finite("Contrast", factor);
  // The mean is of rounded gray levels of the pixels, which no table knows.
  const std::optional<Histogram> counts = counts_;
  finish(picture);
  counts_ = counts;
  compose(image_detail::blend_table(mean_gray(picture.pixels.data(), num_pixels(picture)), factor));
}

template <typename TableOf>
void PointRun::add_by_counts(const TableOf& table_of, const Picture& picture) {
  if (!counts_) {
    const Histogram counts = image_detail::histogram_of(picture.pixels.data(), num_pixels(picture));
    if (!pending_) {
      counts_ = counts;
    } else {
      // Of the pixels before the run: takes them through its tables.
      const PointTables tables = tables_;
      pending_ = false;
      counts_ = counts;
      compose(tables);
    }
  }
  compose({table_of((*counts_)[0]), table_of((*counts_)[1]), table_of((*counts_)[2])});
}

}  // namespace bale::transform_detail
