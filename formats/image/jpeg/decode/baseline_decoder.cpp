#include "bale/formats/image/jpeg/decode/baseline_decoder.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "bale/formats/base/math/rounding.hpp"

namespace bale::image_detail {
namespace {

std::atomic<std::uint64_t> g_baseline_count{0};
std::atomic<std::uint64_t> g_seek_count{0};

}  // namespace

std::uint64_t baseline_count() { return g_baseline_count; }
std::uint64_t seek_count() { return g_seek_count; }

bool BaselineDecoder::decode(const jpeg_decompress_struct& info, const Region& region, const SeekPointsUse& entry,
                             std::uint8_t* rgb) {
  const State begun = begin(info, region, entry, rgb);
  return begun == State::done || (begun == State::under_way && finish());
}

BaselineDecoder::State BaselineDecoder::begin(const jpeg_decompress_struct& info, const Region& region,
                                              const SeekPointsUse& entry, std::uint8_t* rgb) {
  const BaselineUse use = baseline_use();
  if (use == BaselineUse::never) return State::refused;
  const std::optional<BaselineFrame> frame = baseline_frame(info);
  if (!frame) return State::refused;
  const BaselineKernels& kernels = use == BaselineUse::plain ? baseline_kernels_plain() : baseline_kernels();
  if (!prepare(*frame, region, kernels)) return State::refused;
  if (points_.read(entry.kept, entry.image_bytes, *frame) && decode_from_points(rgb)) {
    g_baseline_count.fetch_add(1, std::memory_order_relaxed);
    g_seek_count.fetch_add(1, std::memory_order_relaxed);
    return State::done;
  }
  return begin_at_top(rgb) ? State::under_way : State::refused;
}

bool BaselineDecoder::begin_at_top(std::uint8_t* rgb) {
  pixels_.start(rgb);
  allocate(1);
  entropy_.go_to_top();
  // libjpeg also reads the next row of MCUs for the last two pixel rows, although the upper one does not need it.
  const std::uint32_t end_y = region_.y + region_.height;
  const std::uint32_t margin = frame_.mcu_height() == 8 ? 0 : 1;
  const std::uint32_t end =
      (end_y - 1 + 2 * margin - (margin != 0 && end_y % 2 == 0 ? 1 : 0)) / frame_.mcu_height() + 1;
  end_read_row_ = std::min(round_up(end, frame_.rows_read_together), frame_.mcus_down);
  mcu_row_ = 0;
  return begin_row();
}

/// Makes the pixels of a row that the entropy decoder has finished, and begins the next row.
bool BaselineDecoder::end_row() {
  if (mcu_row_ >= pixels_.first_mcu_row() && !pixels_.finish_row(mcu_row_, coefficients_[0])) return false;
  ++mcu_row_;
  return is_at_end() || begin_row();
}

bool BaselineDecoder::finish() {
  while (!is_at_end()) {
    if (!entropy_.finish_row() || !end_row()) return false;
  }
  if (!entropy_.ends_well(region_.y + region_.height == frame_.height)) return false;
  g_baseline_count.fetch_add(1, std::memory_order_relaxed);
  return true;
}

std::array<BaselineDecoder::State, 2> BaselineDecoder::go_on_beside(BaselineDecoder& a, BaselineDecoder& b) {
  const auto state_of = [](bool good) { return good ? State::done : State::refused; };
  bool a_is_good = true;
  bool b_is_good = true;
  while (a_is_good && b_is_good && !a.is_at_end() && !b.is_at_end()) {
    // Which of them it was is not known.
    if (!EntropyDecoder::decode_beside(a.entropy_, b.entropy_)) return {state_of(a.finish()), state_of(b.finish())};
    a_is_good = !a.entropy_.row_is_done() || a.end_row();
    b_is_good = !b.entropy_.row_is_done() || b.end_row();
  }
  const auto state_after = [&](BaselineDecoder& one, bool is_good) {
    return is_good && !one.is_at_end() ? State::under_way : state_of(is_good && one.finish());
  };
  return {state_after(a, a_is_good), state_after(b, b_is_good)};
}

bool BaselineDecoder::decode_from_points(std::uint8_t* rgb) {
  pixels_.start(rgb);
  const std::uint32_t between = points_.rows_between;
  const std::uint32_t first_row = pixels_.first_mcu_row();
  const std::uint32_t end_row = pixels_.end_mcu_row();
  const std::vector<SeekPoint>& points = points_.points;
  if (between == 1 && frame_.restart_interval == 0) {
    allocate(EntropyDecoder::k_max_rows);
    entropy_.begin_rows_at({points.data() + first_row, points.data() + end_row + 1});
    for (std::uint32_t mcu_row = first_row; mcu_row < end_row; ++mcu_row) {
      const auto place = entropy_.next_row();
      if (!place || !pixels_.finish_row(mcu_row, coefficients_[*place])) return false;
    }
    return true;
  }
  allocate(1);
  const std::uint32_t first = first_row / between;
  const std::uint32_t end = std::min<std::uint32_t>((end_row - 1) / between + 1, points.size() - 1);
  if (!entropy_.go_to(first * between, points[first], points[end].position)) return false;
  for (std::uint32_t mcu_row = first * between; mcu_row < end_row; ++mcu_row) {
    if (mcu_row < first_row) {
      if (!entropy_.skip_row()) return false;
    } else if (!entropy_.begin_row(true) || !entropy_.finish_row() || !pixels_.finish_row(mcu_row, coefficients_[0])) {
      return false;
    }
  }
  return true;
}

bool BaselineDecoder::prepare(const BaselineFrame& frame, const Region& region, const BaselineKernels& kernels) {
  frame_ = frame;
  region_ = region;
  return entropy_.open(frame_, &kernels == &baseline_kernels_plain()) && pixels_.prepare(frame_, region, kernels);
}

void BaselineDecoder::allocate(std::size_t rows_at_once) {
  std::array<std::size_t, 3> sizes{};
  std::size_t bytes = 0;
  for (std::uint32_t i = 0; i < frame_.num_components; ++i) {
    sizes[i] = pixels_.blocks_across(i) * frame_.components[i].blocks_down * k_block_size;
    bytes += rows_at_once * sizes[i] * sizeof(std::int16_t);
  }
  std::uint8_t* const memory = memory_.get(bytes);
  std::memset(memory, 0, bytes);
  auto* at = reinterpret_cast<std::int16_t*>(memory);
  for (std::size_t n = 0; n < rows_at_once; ++n) {
    for (std::uint32_t i = 0; i < frame_.num_components; ++i) {
      coefficients_[n][i] = {.coefficients = at, .blocks_across = pixels_.blocks_across(i)};
      at += sizes[i];
    }
  }
  entropy_.store_in({coefficients_.data(), rows_at_once}, pixels_.mcus(), BlockOrder::pairs);
}

}  // namespace bale::image_detail
