#include "bale/formats/image/jpeg/planes/planes_pixels.hpp"

#include <cstring>

namespace bale::image_detail {

bool PlanesPixels::open(PlanesHeader& header, const jpeg_decompress_struct& info) {
  const std::optional<BaselineFrame> frame = header.frame(info);
  if (!frame) return false;
  if (header.form().is_progressive && !scans_.open_without_data(info, [] { return true; })) return false;
  header_ = &header;
  frame_ = *frame;
  decoder_.open(frame_);
  return true;
}

bool PlanesPixels::decode(const Region& region, std::uint8_t* rgb) {
  if (!pixels_.prepare(frame_, region, widest_baseline_kernels())) return false;
  pixels_.start(rgb);
  std::size_t size = 0;
  for (std::uint32_t i = 0; i < frame_.num_components; ++i) {
    size += pixels_.blocks_across(i) * frame_.components[i].blocks_down * k_block_size;
  }
  auto* at = reinterpret_cast<std::int16_t*>(memory_.get(size * sizeof(std::int16_t)));
  std::memset(at, 0, size * sizeof(std::int16_t));  // also blocks that no MCU has
  CoefficientRows rows;
  for (std::uint32_t i = 0; i < frame_.num_components; ++i) {
    rows[i] = {.coefficients = at, .blocks_across = pixels_.blocks_across(i)};
    at += pixels_.blocks_across(i) * frame_.components[i].blocks_down * k_block_size;
  }
  decoder_.store_in(rows, pixels_.mcus(), BlockOrder::pairs);
  for (std::uint32_t row = pixels_.first_mcu_row(); row < pixels_.end_mcu_row(); ++row) {
    const Bytes classes = header_->classes(row, decoder_.num_blocks());
    if (!decoder_.decode_row(header_->row(row), header_->after_row(row), classes) || !pixels_.finish_row(row, rows))
      return false;
  }
  return true;
}

}  // namespace bale::image_detail
