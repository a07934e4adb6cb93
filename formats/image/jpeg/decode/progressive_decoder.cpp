#include "bale/formats/image/jpeg/decode/progressive_decoder.hpp"

#include <atomic>
#include <cstring>
#include <optional>

#include "bale/formats/base/math/rounding.hpp"
#include "bale/formats/image/jpeg/decode/baseline_decoder.hpp"

namespace bale::image_detail {
namespace {

// In more blocks than these, a sum of DC differences may leave the range in which libjpeg calculates, which it refuses.
constexpr std::uint64_t k_max_blocks = std::uint64_t{1} << 20;

std::atomic<std::uint64_t> g_progressive_count{0};

}  // namespace

std::uint64_t progressive_count() { return g_progressive_count; }

bool ProgressiveDecoder::decode(const jpeg_decompress_struct& info, const Region& region, std::uint8_t* rgb) {
  const BaselineUse use = baseline_use();
  if (use == BaselineUse::never) return false;
  const std::optional<BaselineFrame> frame = progressive_frame(info);
  if (!frame) return false;
  frame_ = *frame;
  const std::uint64_t mcus = std::uint64_t{frame_.mcus_across} * frame_.mcus_down;
  if (mcus * frame_.components[0].blocks_across * frame_.components[0].blocks_down > k_max_blocks) return false;
  const bool plain = use == BaselineUse::plain;
  if (!pixels_.prepare(frame_, region, plain ? baseline_kernels_plain() : baseline_kernels())) return false;
  allocate();
  entropy_.open(frame_, {planes_.data(), frame_.num_components}, BlockOrder::pairs, plain);
  if (!decode_scans(info) || !make_pixels(rgb)) return false;
  g_progressive_count.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void ProgressiveDecoder::allocate() {
  std::array<std::size_t, 3> sizes{};
  std::size_t bytes = 0;
  for (std::uint32_t i = 0; i < frame_.num_components; ++i) {
    const BaselineComponent& component = frame_.components[i];
    BlockPlane& plane = planes_[i];
    plane.blocks_across = divide_up(component.width, 8u);
    plane.blocks_down = divide_up(component.height, 8u);
    plane.mcu_across = component.blocks_across;
    plane.mcu_down = component.blocks_down;
    plane.first_column = pixels_.mcus().begin * component.blocks_across;
    plane.end_column = pixels_.mcus().end * component.blocks_across;
    plane.first_row = pixels_.first_mcu_row() * component.blocks_down;
    plane.end_row = pixels_.end_mcu_row() * component.blocks_down;
    plane.stored_across = pixels_.blocks_across(i);
    sizes[i] = plane.stored_across * (plane.end_row - plane.first_row) * k_block_size;
    bytes += sizes[i] * sizeof(std::int16_t);
  }
  std::uint8_t* const memory = memory_.get(bytes);
  std::memset(memory, 0, bytes);
  auto* at = reinterpret_cast<std::int16_t*>(memory);
  for (std::uint32_t i = 0; i < frame_.num_components; ++i) {
    planes_[i].coefficients = at;
    at += sizes[i];
  }
}

bool ProgressiveDecoder::decode_scans(const jpeg_decompress_struct& info) {
  if (!scans_.open(info)) return false;
  while (true) {
    if (!entropy_.decode(scans_)) return false;
    switch (scans_.go_on(entropy_.marker(), entropy_.rest())) {
      case ProgressiveScans::Next::scan:
        continue;
      case ProgressiveScans::Next::end:
        return scans_.is_complete();
      case ProgressiveScans::Next::refused:
        return false;
    }
  }
}

bool ProgressiveDecoder::make_pixels(std::uint8_t* rgb) {
  pixels_.start(rgb);
  for (std::uint32_t mcu_row = pixels_.first_mcu_row(); mcu_row < pixels_.end_mcu_row(); ++mcu_row) {
    CoefficientRows rows;
    for (std::uint32_t i = 0; i < frame_.num_components; ++i) {
      const BlockPlane& plane = planes_[i];
      const std::size_t first = std::size_t{mcu_row * plane.mcu_down - plane.first_row} * plane.stored_across;
      rows[i] = {.coefficients = plane.coefficients + first * k_block_size, .blocks_across = plane.stored_across};
    }
    if (!pixels_.finish_row(mcu_row, rows)) return false;
  }
  return true;
}

}  // namespace bale::image_detail
