#include "bale/formats/image/jpeg/pixels/region_pixels.hpp"

#include <algorithm>
#include <cstring>

#include "bale/formats/base/math/rounding.hpp"

namespace bale::image_detail {
namespace {

constexpr std::size_t k_alignment = AlignedMemory::k_alignment;

}  // namespace

bool RegionPixels::prepare(const BaselineFrame& frame, const Region& region, const BaselineKernels& kernels) {
  frame_ = &frame;
  kernels_ = &kernels;
  region_ = region;
  for (std::uint32_t i = 0; i < frame.num_components; ++i) {
    const JQUANT_TBL* const table = frame.components[i].quantizers;
    if (!quantizers_[i].set(table->quantval)) return false;
  }
  // The chroma filters need a neighbor on each side.
  const std::uint32_t end_x = region.x + region.width;
  const std::uint32_t end_y = region.y + region.height;
  const std::uint32_t margin_x = frame.mcu_width() == 8 ? 0 : 1;
  const std::uint32_t margin_y = frame.mcu_height() == 8 ? 0 : 1;
  mcus_.begin = (region.x - std::min(region.x, margin_x)) / frame.mcu_width();
  mcus_.end = (std::min(end_x + margin_x, frame.width) - 1) / frame.mcu_width() + 1;
  first_mcu_row_ = (region.y - std::min(region.y, margin_y)) / frame.mcu_height();
  end_mcu_row_ = (std::min(end_y + margin_y, frame.height) - 1) / frame.mcu_height() + 1;
  for (std::uint32_t i = 0; i < frame.num_components; ++i) {
    Plane& plane = planes_[i];
    const bool halved = i > 0 && margin_y != 0;
    plane.first_row = halved ? (region.y - std::min(region.y, 1u)) / 2 : region.y;
    plane.end_row = halved ? std::min(end_y / 2 + 1, frame.components[i].height) : end_y;
  }
  return true;
}

std::size_t RegionPixels::blocks_across(std::size_t component) const {
  const std::size_t mcus = mcus_.end - mcus_.begin;
  return round_up(mcus * frame_->components[component].blocks_across, std::size_t{1} << kernels_->group_shift);
}

// One allocation for everything: samples, rows of chroma, a row of pixels.
void RegionPixels::start(std::uint8_t* rgb) {
  rgb_ = rgb;
  next_row_ = region_.y;
  std::size_t needed = 0;
  for (std::uint32_t i = 0; i < frame_->num_components; ++i) {
    const BaselineComponent& component = frame_->components[i];
    Plane& plane = planes_[i];
    plane.rows_of_mcu = component.blocks_down * 8;
    plane.num_rows = std::size_t{plane.rows_of_mcu} * 2;
    plane.stride = round_up(blocks_across(i) * 8, k_alignment) + 2 * k_alignment;
    plane.first_column = mcus_.begin * component.blocks_across * 8;
    needed += plane.num_rows * plane.stride;
  }
  const std::size_t row_bytes = round_up(region_.width + 2, k_alignment) + 2 * k_alignment;
  std::uint8_t* at = memory_.get(needed + 5 * row_bytes);
  for (std::uint32_t i = 0; i < frame_->num_components; ++i) {
    planes_[i].samples = at + k_alignment;
    at += planes_[i].num_rows * planes_[i].stride;
  }
  for (std::uint8_t*& row : wide_chroma_) {
    row = at;
    at += row_bytes;
  }
  last_pixels_ = at;
}

bool RegionPixels::finish_row(std::uint32_t mcu_row, const CoefficientRows& coefficients) {
  if (!make_samples(mcu_row, coefficients)) return false;
  write_rows(rows_ready(mcu_row));
  return true;
}

bool RegionPixels::make_samples(std::uint32_t mcu_row, const CoefficientRows& coefficients_of) {
  for (std::uint32_t i = 0; i < frame_->num_components; ++i) {
    const Plane& plane = planes_[i];
    const CoefficientRow& from = coefficients_of[i];
    const std::size_t row_size = from.blocks_across * k_block_size;
    for (std::uint32_t block_row = 0; block_row < frame_->components[i].blocks_down; ++block_row) {
      const std::uint32_t y = mcu_row * plane.rows_of_mcu + block_row * 8;
      std::int16_t* const coefficients = from.coefficients + block_row * row_size;
      if (y >= plane.end_row || y + 8 <= plane.first_row) {
        std::memset(coefficients, 0, row_size * sizeof(std::int16_t));
        continue;
      }
      const SamplesOut out{.samples = plane.row(y), .stride = plane.stride};
      const std::size_t num_groups = from.blocks_across >> kernels_->group_shift;
      if (!kernels_->inverse_dct(coefficients, num_groups, quantizers_[i], out)) return false;
    }
    if (i > 0 && frame_->mcu_width() > 8) pad_edges(plane, frame_->components[i], mcu_row);
  }
  return true;
}

// Beyond the image's edges the filter repeats the outermost column.
void RegionPixels::pad_edges(const Plane& plane, const BaselineComponent& component, std::uint32_t mcu_row) {
  const bool at_left = plane.first_column == 0;
  const bool at_right = mcus_.end == frame_->mcus_across;
  for (std::uint32_t y = 0; y < plane.rows_of_mcu; ++y) {
    std::uint8_t* const row = plane.row(mcu_row * plane.rows_of_mcu + y);
    if (at_left) row[-1] = row[0];
    std::uint8_t* const end = row + (component.width - plane.first_column);
    if (at_right) end[0] = end[-1];
  }
}

/// The number of pixel rows, from the image's top, that can be made once that row of MCUs is decoded.
std::uint32_t RegionPixels::rows_ready(std::uint32_t mcu_row) const {
  const std::uint32_t end_y = region_.y + region_.height;
  if (mcu_row + 1 == frame_->mcus_down) return end_y;
  const std::uint32_t rows = (mcu_row + 1) * frame_->mcu_height();
  return std::min(frame_->mcu_height() == 8 ? rows : rows - 1, end_y);
}

void RegionPixels::write_rows(std::uint32_t end) {
  // The kernels write whole vectors, into the next row, which is written later. The last rows have no room for it.
  constexpr std::size_t k_overrun = 3 * k_row_padding_bytes;
  const std::size_t row_bytes = std::size_t{region_.width} * 3;
  const std::size_t total = row_bytes * region_.height;
  for (; next_row_ < end; ++next_row_) {
    const std::size_t at = (next_row_ - region_.y) * row_bytes;
    if (total - at >= row_bytes + k_overrun) {
      write_row(next_row_, rgb_ + at);
    } else {
      write_row(next_row_, last_pixels_);
      std::memcpy(rgb_ + at, last_pixels_, row_bytes);
    }
  }
}

void RegionPixels::write_row(std::uint32_t y, std::uint8_t* to) {
  const std::uint8_t* const luma = planes_[0].row(y) + (region_.x - planes_[0].first_column);
  if (frame_->num_components == 1) {
    kernels_->gray_to_rgb(luma, region_.width, to);
  } else {
    kernels_->to_rgb(luma, {chroma_row(y, 1), chroma_row(y, 2)}, region_.width, to);
  }
}

/// One sample for each of the region's pixels in that row.
const std::uint8_t* RegionPixels::chroma_row(std::uint32_t y, std::size_t component) {
  const Plane& plane = planes_[component];
  std::uint8_t* const wide = wide_chroma_[component - 1];
  const bool halved_across = frame_->mcu_width() > 8;
  const bool halved_down = frame_->mcu_height() > 8;
  const std::uint32_t first = halved_across ? region_.x / 2 : region_.x;
  const std::uint32_t end = halved_across ? (region_.x + region_.width - 1) / 2 + 1 : region_.x + region_.width;
  const std::size_t count = end - first;
  const std::size_t skipped = first - plane.first_column;
  if (!halved_down) {
    const std::uint8_t* const row = plane.row(y) + skipped;
    if (!halved_across) return row;
    kernels_->upsample_across(row, count, wide);
    return wide + region_.x % 2;
  }
  const bool lower = y % 2 != 0;
  const std::uint32_t near = y / 2;
  const std::uint32_t far =
      lower ? std::min(near + 1, frame_->components[component].height - 1) : near - std::min(near, 1u);
  const ChromaRows rows{.near = plane.row(near) + skipped, .far = plane.row(far) + skipped};
  if (halved_across) {
    kernels_->upsample_both(rows, count, lower, wide);
    return wide + region_.x % 2;
  }
  kernels_->upsample_down(rows, count, lower, wide);
  return wide;
}

}  // namespace bale::image_detail
