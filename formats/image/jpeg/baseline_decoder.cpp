#include "bale/formats/image/jpeg/baseline_decoder.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "bale/formats/base/rounding.hpp"

namespace bale::image_detail {
namespace {

constexpr std::size_t k_alignment = 64;
constexpr std::size_t k_keep_bytes = std::size_t{8} << 20;

std::atomic<BaselineUse> g_use{BaselineUse::automatic};
std::atomic<std::uint64_t> g_count{0};
std::atomic<std::uint64_t> g_seek_count{0};

}  // namespace

void set_baseline_use(BaselineUse use) { g_use = use; }
std::uint64_t baseline_count() { return g_count; }
std::uint64_t seek_count() { return g_seek_count; }

bool BaselineDecoder::decode(const jpeg_decompress_struct& info, const Region& region, const SeekPointsUse& entry,
                             std::uint8_t* rgb) {
  const Begun begun = begin(info, region, entry, rgb);
  return begun == Begun::done || (begun == Begun::at_top && finish());
}

BaselineDecoder::Begun BaselineDecoder::begin(const jpeg_decompress_struct& info, const Region& region,
                                              const SeekPointsUse& entry, std::uint8_t* rgb) {
  const BaselineUse use = g_use;
  if (use == BaselineUse::never) return Begun::refused;
  const std::optional<BaselineFrame> frame = baseline_frame(info);
  if (!frame) return Begun::refused;
  kernels_ = use == BaselineUse::plain ? &baseline_kernels_plain() : &baseline_kernels();
  if (!prepare(*frame, region)) return Begun::refused;
  if (points_.read(entry.kept, entry.image_bytes, *frame) && decode_from_points(rgb)) {
    g_count.fetch_add(1, std::memory_order_relaxed);
    g_seek_count.fetch_add(1, std::memory_order_relaxed);
    return Begun::done;
  }
  return begin_at_top(rgb) ? Begun::at_top : Begun::refused;
}

bool BaselineDecoder::begin_at_top(std::uint8_t* rgb) {
  allocate(1);
  entropy_.go_to_top();
  // libjpeg also reads the next row of MCUs for the last two pixel rows, although the upper one does not need it.
  const std::uint32_t end_y = region_.y + region_.height;
  const std::uint32_t margin = frame_.mcu_height() == 8 ? 0 : 1;
  const std::uint32_t end =
      (end_y - 1 + 2 * margin - (margin != 0 && end_y % 2 == 0 ? 1 : 0)) / frame_.mcu_height() + 1;
  end_read_row_ = std::min(round_up(end, frame_.rows_read_together), frame_.mcus_down);
  mcu_row_ = 0;
  rgb_ = rgb;
  return begin_row();
}

/// Makes the pixels of a row that the entropy decoder has finished, and begins the next row.
bool BaselineDecoder::end_row() {
  if (mcu_row_ >= first_mcu_row_ && !finish_row(mcu_row_, coefficients_[0], rgb_)) return false;
  ++mcu_row_;
  return is_at_end() || begin_row();
}

bool BaselineDecoder::finish() {
  while (!is_at_end()) {
    if (!entropy_.finish_row() || !end_row()) return false;
  }
  if (!entropy_.ends_well(region_.y + region_.height == frame_.height)) return false;
  g_count.fetch_add(1, std::memory_order_relaxed);
  return true;
}

std::array<bool, 2> BaselineDecoder::finish_both(BaselineDecoder& a, BaselineDecoder& b) {
  std::array<bool, 2> good{true, true};
  while (good[0] && good[1] && !a.is_at_end() && !b.is_at_end()) {
    if (!EntropyDecoder::decode_beside(a.entropy_, b.entropy_)) break;
    good[0] = !a.entropy_.row_is_done() || a.end_row();
    good[1] = !b.entropy_.row_is_done() || b.end_row();
  }
  good[0] = good[0] && a.finish();
  good[1] = good[1] && b.finish();
  return good;
}

bool BaselineDecoder::decode_from_points(std::uint8_t* rgb) {
  const std::uint32_t between = points_.rows_between;
  const std::vector<SeekPoint>& points = points_.points;
  if (between == 1 && frame_.restart_interval == 0) {
    allocate(EntropyDecoder::k_max_rows);
    for (std::uint32_t mcu_row = first_mcu_row_; mcu_row < end_mcu_row_;) {
      const std::uint32_t count = std::min(end_mcu_row_ - mcu_row, EntropyDecoder::k_max_rows);
      if (!entropy_.decode_rows_at({points.data() + mcu_row, count + 1})) return false;
      for (std::uint32_t i = 0; i < count; ++i, ++mcu_row) {
        if (!finish_row(mcu_row, coefficients_[i], rgb)) return false;
      }
    }
    return true;
  }
  allocate(1);
  const std::uint32_t first = first_mcu_row_ / between;
  const std::uint32_t end = std::min<std::uint32_t>((end_mcu_row_ - 1) / between + 1, points.size() - 1);
  if (!entropy_.go_to(first * between, points[first], points[end].position)) return false;
  for (std::uint32_t mcu_row = first * between; mcu_row < end_mcu_row_; ++mcu_row) {
    if (mcu_row < first_mcu_row_) {
      if (!entropy_.skip_row()) return false;
    } else if (!entropy_.begin_row(true) || !entropy_.finish_row() || !finish_row(mcu_row, coefficients_[0], rgb)) {
      return false;
    }
  }
  return true;
}

bool BaselineDecoder::finish_row(std::uint32_t mcu_row, const CoefficientRows& coefficients, std::uint8_t* rgb) {
  if (!make_samples(mcu_row, coefficients)) return false;
  write_rows(rows_ready(mcu_row), rgb);
  return true;
}

bool BaselineDecoder::prepare(const BaselineFrame& frame, const Region& region) {
  frame_ = frame;
  region_ = region;
  if (!entropy_.open(frame, kernels_ == &baseline_kernels_plain())) return false;
  for (std::uint32_t i = 0; i < frame.num_components; ++i) {
    const JQUANT_TBL* const table = frame.components[i].quantizers;
    if (!quantizers_[i].set(table->quantval)) return false;
  }
  // The chroma filters need a neighbor on each side.
  const std::uint32_t end_x = region.x + region.width;
  const std::uint32_t end_y = region.y + region.height;
  const std::uint32_t margin_x = frame.mcu_width() == 8 ? 0 : 1;
  const std::uint32_t margin_y = frame.mcu_height() == 8 ? 0 : 1;
  kept_.begin = (region.x - std::min(region.x, margin_x)) / frame.mcu_width();
  kept_.end = (std::min(end_x + margin_x, frame.width) - 1) / frame.mcu_width() + 1;
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

// One allocation for everything: coefficients (zeros), samples, rows of chroma, a row of pixels.
void BaselineDecoder::allocate(std::size_t rows_at_once) {
  next_row_ = region_.y;
  const std::size_t group = std::size_t{1} << kernels_->group_shift;
  const std::size_t mcus = kept_.end - kept_.begin;
  std::array<std::size_t, 3> num_blocks{};
  std::size_t cleared = 0;
  std::size_t needed = 0;
  for (std::uint32_t i = 0; i < frame_.num_components; ++i) {
    const BaselineComponent& component = frame_.components[i];
    const std::size_t across = round_up(mcus * component.blocks_across, group);
    num_blocks[i] = across * component.blocks_down;
    for (std::size_t n = 0; n < rows_at_once; ++n) coefficients_[n][i].blocks_across = across;
    cleared += rows_at_once * num_blocks[i] * k_block_size * sizeof(std::int16_t);
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
  for (std::size_t n = 0; n < rows_at_once; ++n) {
    for (std::uint32_t i = 0; i < frame_.num_components; ++i) {
      coefficients_[n][i].coefficients = reinterpret_cast<std::int16_t*>(at);
      at += num_blocks[i] * k_block_size * sizeof(std::int16_t);
    }
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
  entropy_.store_in({coefficients_.data(), rows_at_once}, kept_, kernels_->group_shift);
}

bool BaselineDecoder::make_samples(std::uint32_t mcu_row, const CoefficientRows& coefficients_of) {
  for (std::uint32_t i = 0; i < frame_.num_components; ++i) {
    const Plane& plane = planes_[i];
    const CoefficientRow& from = coefficients_of[i];
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
      if (!kernels_->inverse_dct(coefficients, num_groups, quantizers_[i], out)) return false;
    }
    if (i > 0 && frame_.mcu_width() > 8) pad_edges(plane, frame_.components[i], mcu_row);
  }
  return true;
}

// Beyond the image's edges the filter repeats the outermost column.
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

/// The number of pixel rows, from the image's top, that can be made once that row of MCUs is decoded.
std::uint32_t BaselineDecoder::rows_ready(std::uint32_t mcu_row) const {
  const std::uint32_t end_y = region_.y + region_.height;
  if (mcu_row + 1 == frame_.mcus_down) return end_y;
  const std::uint32_t rows = (mcu_row + 1) * frame_.mcu_height();
  return std::min(frame_.mcu_height() == 8 ? rows : rows - 1, end_y);
}

void BaselineDecoder::write_rows(std::uint32_t end, std::uint8_t* rgb) {
  // The kernels write whole vectors, into the next row, which is written later. The last rows have no room for it.
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
    kernels_->gray_to_rgb(luma, region_.width, to);
  } else {
    kernels_->to_rgb(luma, {chroma_row(y, 1), chroma_row(y, 2)}, region_.width, to);
  }
}

/// One sample for each of the region's pixels in that row.
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
