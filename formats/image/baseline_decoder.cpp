#include "bale/formats/image/baseline_decoder.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "bale/formats/core/rounding.hpp"

namespace bale::image_detail {
namespace {

constexpr std::size_t k_alignment = 64;
constexpr std::size_t k_keep_bytes = std::size_t{8} << 20;

std::atomic<BaselineUse> g_use{BaselineUse::automatic};
std::atomic<std::uint64_t> g_count{0};

}  // namespace

void set_baseline_use(BaselineUse use) { g_use = use; }
std::uint64_t baseline_count() { return g_count; }

bool BaselineDecoder::decode(const jpeg_decompress_struct& info, const Region& region, std::uint8_t* rgb) {
  const BaselineUse use = g_use;
  if (use == BaselineUse::never) return false;
  const std::optional<BaselineFrame> frame = baseline_frame(info);
  if (!frame) return false;
  kernels_ = use == BaselineUse::plain ? &baseline_kernels_plain() : &baseline_kernels();
  if (!prepare(*frame, region)) return false;
  for (std::uint32_t mcu_row = 0; mcu_row < end_mcu_row_; ++mcu_row) {
    const bool kept = mcu_row >= first_mcu_row_;
    if (!entropy_.decode_row(coefficients_, kept ? kept_ : McuRange{})) return false;
    if (!kept) continue;
    if (!make_samples(mcu_row)) return false;
    write_rows(rows_ready(mcu_row), rgb);
  }
  if (!entropy_.ends_well(region.y + region.height == frame_.height)) return false;
  g_count.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool BaselineDecoder::prepare(const BaselineFrame& frame, const Region& region) {
  frame_ = frame;
  region_ = region;
  next_row_ = region.y;
  if (!entropy_.open(frame, kernels_->group_shift, kernels_ == &baseline_kernels_plain())) return false;
  for (std::uint32_t i = 0; i < frame.num_components; ++i) {
    const JQUANT_TBL* const table = frame.components[i].quantisers;
    if (!quantisers_[i].set(table->quantval)) return false;
  }
  // The filters for chroma need a neighbour on each side.
  const std::uint32_t end_x = region.x + region.width;
  const std::uint32_t end_y = region.y + region.height;
  const std::uint32_t margin_x = frame.mcu_width() == 8 ? 0 : 1;
  const std::uint32_t margin_y = frame.mcu_height() == 8 ? 0 : 1;
  kept_.begin = (region.x - std::min(region.x, margin_x)) / frame.mcu_width();
  kept_.end = (std::min(end_x + margin_x, frame.width) - 1) / frame.mcu_width() + 1;
  first_mcu_row_ = (region.y - std::min(region.y, margin_y)) / frame.mcu_height();
  // libjpeg reads the MCUs below for the last two rows, although the upper of them does not need it.
  end_mcu_row_ = (end_y - 1 + 2 * margin_y - (margin_y != 0 && end_y % 2 == 0 ? 1 : 0)) / frame.mcu_height() + 1;
  end_mcu_row_ = std::min(round_up(end_mcu_row_, frame.rows_read_together), frame.mcus_down);
  for (std::uint32_t i = 0; i < frame.num_components; ++i) {
    Plane& plane = planes_[i];
    const bool halved = i > 0 && margin_y != 0;
    plane.first_row = halved ? (region.y - std::min(region.y, 1u)) / 2 : region.y;
    plane.end_row = halved ? std::min(end_y / 2 + 1, frame.components[i].height) : end_y;
  }
  allocate();
  return true;
}

// One piece of memory for all: coefficients (zeros), samples, rows of chroma, a row of pixels.
void BaselineDecoder::allocate() {
  const std::size_t group = std::size_t{1} << kernels_->group_shift;
  const std::size_t mcus = kept_.end - kept_.begin;
  std::array<std::size_t, 3> num_blocks{};
  std::size_t cleared = 0;
  std::size_t needed = 0;
  for (std::uint32_t i = 0; i < frame_.num_components; ++i) {
    const BaselineComponent& component = frame_.components[i];
    const std::size_t across = round_up(mcus * component.blocks_across, group);
    num_blocks[i] = across * component.blocks_down;
    coefficients_[i].blocks_across = across;
    cleared += num_blocks[i] * k_block_size * sizeof(std::int16_t) + round_up(num_blocks[i], k_alignment);
    Plane& plane = planes_[i];
    plane.rows_of_mcu = component.blocks_down * 8;
    plane.num_rows = std::size_t{plane.rows_of_mcu} * 2;
    plane.stride = round_up(across * 8, k_alignment) + 2 * k_alignment;
    plane.first_column = kept_.begin * component.blocks_across * 8;
    needed += plane.num_rows * plane.stride;
  }
  const std::size_t row_bytes = round_up(region_.width + 2, k_alignment) + 2 * k_alignment;
  needed += cleared + 5 * row_bytes + k_alignment;
  if (needed > capacity_ || (capacity_ > k_keep_bytes && needed < capacity_ / 4)) {
    memory_.reset();
    capacity_ = 0;
    memory_.reset(new std::uint8_t[needed]);
    capacity_ = needed;
  }
  const auto misaligned = static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(memory_.get()) % k_alignment);
  std::uint8_t* at = memory_.get() + (k_alignment - misaligned) % k_alignment;
  std::memset(at, 0, cleared);
  for (std::uint32_t i = 0; i < frame_.num_components; ++i) {
    coefficients_[i].coefficients = reinterpret_cast<std::int16_t*>(at);
    at += num_blocks[i] * k_block_size * sizeof(std::int16_t);
    coefficients_[i].ends = at;
    at += round_up(num_blocks[i], k_alignment);
  }
  for (std::uint32_t i = 0; i < frame_.num_components; ++i) {
    planes_[i].samples = at + k_alignment;
    at += planes_[i].num_rows * planes_[i].stride;
  }
  for (std::uint8_t*& row : wide_chroma_) {
    row = at;
    at += row_bytes;
  }
  last_pixels_ = at;
}

bool BaselineDecoder::make_samples(std::uint32_t mcu_row) {
  for (std::uint32_t i = 0; i < frame_.num_components; ++i) {
    const Plane& plane = planes_[i];
    const CoefficientRow& from = coefficients_[i];
    const std::size_t row_size = from.blocks_across * k_block_size;
    for (std::uint32_t block_row = 0; block_row < frame_.components[i].blocks_down; ++block_row) {
      const std::uint32_t y = mcu_row * plane.rows_of_mcu + block_row * 8;
      std::int16_t* const coefficients = from.coefficients + block_row * row_size;
      if (y >= plane.end_row || y + 8 <= plane.first_row) {
        std::memset(coefficients, 0, row_size * sizeof(std::int16_t));
        continue;
      }
      const SamplesOut out{.samples = plane.row(y), .stride = plane.stride};
      const std::size_t num_groups = from.blocks_across >> kernels_->group_shift;
      const std::uint8_t* const ends = from.ends + block_row * from.blocks_across;
      if (!kernels_->inverse_dct(coefficients, num_groups, ends, quantisers_[i], out)) return false;
    }
    if (i > 0 && frame_.mcu_width() > 8) pad_edges(plane, frame_.components[i], mcu_row);
  }
  return true;
}

// Beyond the image's edges the filter sees the outermost column again.
void BaselineDecoder::pad_edges(const Plane& plane, const BaselineComponent& component, std::uint32_t mcu_row) {
  const bool at_left = plane.first_column == 0;
  const bool at_right = kept_.end == frame_.mcus_across;
  for (std::uint32_t y = 0; y < plane.rows_of_mcu; ++y) {
    std::uint8_t* const row = plane.row(mcu_row * plane.rows_of_mcu + y);
    if (at_left) row[-1] = row[0];
    std::uint8_t* const end = row + (component.width - plane.first_column);
    if (at_right) end[0] = end[-1];
  }
}

/// Rows of pixels, from the image's top, that can be made once that row of MCUs is there.
std::uint32_t BaselineDecoder::rows_ready(std::uint32_t mcu_row) const {
  const std::uint32_t end_y = region_.y + region_.height;
  if (mcu_row + 1 == frame_.mcus_down) return end_y;
  const std::uint32_t rows = (mcu_row + 1) * frame_.mcu_height();
  return std::min(frame_.mcu_height() == 8 ? rows : rows - 1, end_y);
}

void BaselineDecoder::write_rows(std::uint32_t end, std::uint8_t* rgb) {
  // Whole vectors are written, into the row below, which follows; the last few rows must not.
  constexpr std::size_t k_overrun = 3 * k_row_padding_bytes;
  const std::size_t row_bytes = std::size_t{region_.width} * 3;
  const std::size_t total = row_bytes * region_.height;
  for (; next_row_ < end; ++next_row_) {
    const std::size_t at = (next_row_ - region_.y) * row_bytes;
    if (total - at >= row_bytes + k_overrun) {
      write_row(next_row_, rgb + at);
    } else {
      write_row(next_row_, last_pixels_);
      std::memcpy(rgb + at, last_pixels_, row_bytes);
    }
  }
}

void BaselineDecoder::write_row(std::uint32_t y, std::uint8_t* to) {
  const std::uint8_t* const luma = planes_[0].row(y) + (region_.x - planes_[0].first_column);
  if (frame_.num_components == 1) {
    kernels_->grey_to_rgb(luma, region_.width, to);
  } else {
    kernels_->to_rgb(luma, {chroma_row(y, 1), chroma_row(y, 2)}, region_.width, to);
  }
}

/// A sample for each of the region's pixels in that row.
const std::uint8_t* BaselineDecoder::chroma_row(std::uint32_t y, std::size_t component) {
  const Plane& plane = planes_[component];
  std::uint8_t* const wide = wide_chroma_[component - 1];
  const bool halved_across = frame_.mcu_width() > 8;
  const bool halved_down = frame_.mcu_height() > 8;
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
      lower ? std::min(near + 1, frame_.components[component].height - 1) : near - std::min(near, 1u);
  const ChromaRows rows{.near = plane.row(near) + skipped, .far = plane.row(far) + skipped};
  if (halved_across) {
    kernels_->upsample_both(rows, count, lower, wide);
    return wide + region_.x % 2;
  }
  kernels_->upsample_down(rows, count, lower, wide);
  return wide;
}

}  // namespace bale::image_detail
