#include "bale/formats/image/jpeg/entropy/baseline_frame.hpp"

#include "bale/formats/base/math/rounding.hpp"

namespace bale::image_detail {
namespace {

constexpr int k_last_coefficient = DCTSIZE2 - 1;

bool is_one_sequential_scan(const jpeg_decompress_struct& info) {
  if (info.progressive_mode) return false;
  if (info.comps_in_scan != info.num_components) return false;
  for (int i = 0; i < info.num_components; ++i) {
    if (info.cur_comp_info[i] != &info.comp_info[i]) return false;
  }
  return info.Ss == 0 && info.Se == k_last_coefficient && info.Ah == 0 && info.Al == 0;
}

bool has_known_colors(const jpeg_decompress_struct& info) {
  if (info.out_color_space != JCS_RGB || info.scale_num != info.scale_denom) return false;
  if (info.num_components == 1) return info.jpeg_color_space == JCS_GRAYSCALE;
  return info.num_components == 3 && info.jpeg_color_space == JCS_YCbCr;
}

bool has_known_sampling(const jpeg_decompress_struct& info) {
  const jpeg_component_info& luma = info.comp_info[0];
  if (luma.h_samp_factor > 2 || luma.v_samp_factor > 2) return false;
  for (int i = 1; i < info.num_components; ++i) {
    if (info.comp_info[i].h_samp_factor != 1 || info.comp_info[i].v_samp_factor != 1) return false;
  }
  // libjpeg uses another filter if chroma has two columns or fewer.
  return info.num_components == 1 || luma.h_samp_factor == 1 || info.image_width > 4;
}

template <typename Table>
const Table* table_at(Table* const (&tables)[4], int index) {
  return index >= 0 && index < 4 ? tables[index] : nullptr;
}

/// All but the Huffman tables. nullopt if quantization tables are missing.
std::optional<BaselineFrame> frame_of(const jpeg_decompress_struct& info) {
  if (info.data_precision != 8 || info.arith_code || !has_known_colors(info) || !has_known_sampling(info)) {
    return std::nullopt;
  }
  BaselineFrame frame;
  frame.width = info.image_width;
  frame.height = info.image_height;
  frame.num_components = static_cast<std::uint32_t>(info.num_components);
  frame.restart_interval = info.restart_interval;
  const auto across = static_cast<std::uint32_t>(info.comp_info[0].h_samp_factor);
  const auto down = static_cast<std::uint32_t>(info.comp_info[0].v_samp_factor);
  for (std::uint32_t i = 0; i < frame.num_components; ++i) {
    const jpeg_component_info& from = info.comp_info[i];
    BaselineComponent& component = frame.components[i];
    component.quantizers = table_at(info.quant_tbl_ptrs, from.quant_tbl_no);
    if (!component.quantizers) return std::nullopt;
    component.width = i == 0 ? frame.width : divide_up(frame.width, across);
    component.height = i == 0 ? frame.height : divide_up(frame.height, down);
  }
  if (frame.num_components == 1) {
    // A scan of one component has MCUs of one block, for any sampling: T.81, A.2.2.
    frame.rows_read_together = down;
  } else {
    frame.components[0].blocks_across = across;
    frame.components[0].blocks_down = down;
  }
  frame.mcus_across = divide_up(frame.width, frame.mcu_width());
  frame.mcus_down = divide_up(frame.height, frame.mcu_height());
  frame.scan = {reinterpret_cast<const std::byte*>(info.src->next_input_byte), info.src->bytes_in_buffer};
  return frame;
}

}  // namespace

std::optional<BaselineFrame> baseline_frame(const jpeg_decompress_struct& info) {
  if (!is_one_sequential_scan(info)) return std::nullopt;
  std::optional<BaselineFrame> frame = frame_of(info);
  if (!frame) return std::nullopt;
  for (std::uint32_t i = 0; i < frame->num_components; ++i) {
    BaselineComponent& component = frame->components[i];
    component.dc_codes = table_at(info.dc_huff_tbl_ptrs, info.comp_info[i].dc_tbl_no);
    component.ac_codes = table_at(info.ac_huff_tbl_ptrs, info.comp_info[i].ac_tbl_no);
    if (!component.dc_codes || !component.ac_codes) return std::nullopt;
  }
  return frame;
}

std::optional<BaselineFrame> progressive_frame(const jpeg_decompress_struct& info) {
  return info.progressive_mode ? frame_of(info) : std::nullopt;
}

}  // namespace bale::image_detail
