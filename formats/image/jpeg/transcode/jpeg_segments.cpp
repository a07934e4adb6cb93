#include "bale/formats/image/jpeg/transcode/baseline_encoder.hpp"

#include <algorithm>
#include <array>

#include "bale/formats/image/jpeg/entropy/coefficient_rows.hpp"
#include "bale/formats/image/jpeg/header/jpeg_markers.hpp"

namespace bale::image_detail {
namespace {

constexpr std::size_t k_block_coefficients = 64;

class SegmentWriter {
 public:
  explicit SegmentWriter(std::vector<std::byte>& out) : out_(out) {}

  void marker(std::uint32_t code) {
    u8(0xFF);
    u8(code);
  }
  /// `length` is of what follows.
  void segment(std::uint32_t code, std::size_t length) {
    marker(code);
    u16(length + 2);
  }
  void u8(std::size_t value) { out_.push_back(static_cast<std::byte>(value)); }
  void u16(std::size_t value) {
    u8(value >> 8);
    u8(value);
  }
  void bytes(const unsigned char* first, std::size_t size) {
    const auto* const from = reinterpret_cast<const std::byte*>(first);
    out_.insert(out_.end(), from, from + size);
  }

 private:
  std::vector<std::byte>& out_;
};

std::size_t value(int number) { return static_cast<std::size_t>(number); }

/// T.81, B.2.4.1: each table once. Returns whether one of them has values of 16 bits.
bool write_quantizers(const jpeg_decompress_struct& info, SegmentWriter& to) {
  std::array<bool, NUM_QUANT_TBLS> written{};
  bool any_is_wide = false;
  for (int i = 0; i < info.num_components; ++i) {
    const std::size_t number = value(info.comp_info[i].quant_tbl_no);
    const UINT16* const values = info.quant_tbl_ptrs[number]->quantval;
    const bool is_wide = std::any_of(values, values + k_block_coefficients, [](UINT16 each) { return each > 255; });
    any_is_wide = any_is_wide || is_wide;
    if (written[number]) continue;
    written[number] = true;
    to.segment(jpeg_marker::k_dqt, 1 + k_block_coefficients * (is_wide ? 2 : 1));
    to.u8((is_wide ? 16U : 0U) + number);
    for (const std::uint8_t place : k_zigzag) is_wide ? to.u16(values[place]) : to.u8(values[place]);
  }
  return any_is_wide;
}

/// T.81, B.2.2. Quantization tables of 16 bits make the process an extended one.
void write_frame(const jpeg_decompress_struct& info, bool is_extended, SegmentWriter& to) {
  to.segment(is_extended ? jpeg_marker::k_sof1 : jpeg_marker::k_sof0, 6 + 3 * value(info.num_components));
  to.u8(8);
  to.u16(info.image_height);
  to.u16(info.image_width);
  to.u8(value(info.num_components));
  for (int i = 0; i < info.num_components; ++i) {
    const jpeg_component_info& component = info.comp_info[i];
    to.u8(value(component.component_id));
    to.u8(value(component.h_samp_factor << 4 | component.v_samp_factor));
    to.u8(value(component.quant_tbl_no));
  }
}

/// T.81, B.2.4.2. `is_ac`: the table's class.
void write_codes(const OptimalCodes& codes, bool is_ac, std::size_t number, SegmentWriter& to) {
  to.segment(jpeg_marker::k_dht, 17 + codes.num_symbols);
  to.u8((is_ac ? 16U : 0U) + number);
  to.bytes(codes.num_codes.data() + 1, 16);
  to.bytes(codes.symbols.data(), codes.num_symbols);
}

/// T.81, B.2.3.
void write_scan(const jpeg_decompress_struct& info, SegmentWriter& to) {
  to.segment(jpeg_marker::k_sos, 4 + 2 * value(info.num_components));
  to.u8(value(info.num_components));
  for (int i = 0; i < info.num_components; ++i) {
    to.u8(value(info.comp_info[i].component_id));
    to.u8(codes_of_component(value(i)) * 17);
  }
  to.u8(0);
  to.u8(63);
  to.u8(0);
}

}  // namespace

void append_segments(const jpeg_decompress_struct& info, const BaselineEncoder& encoder, std::vector<std::byte>& out) {
  SegmentWriter to(out);
  to.marker(jpeg_marker::k_soi);
  for (jpeg_saved_marker_ptr marker = info.marker_list; marker != nullptr; marker = marker->next) {
    to.segment(marker->marker, marker->data_length);
    to.bytes(marker->data, marker->data_length);
  }
  const bool is_extended = write_quantizers(info, to);
  write_frame(info, is_extended, to);
  write_codes(encoder.codes(ScanTable::luma_dc), false, 0, to);
  write_codes(encoder.codes(ScanTable::luma_ac), true, 0, to);
  if (info.num_components > 1) {
    write_codes(encoder.codes(ScanTable::chroma_dc), false, 1, to);
    write_codes(encoder.codes(ScanTable::chroma_ac), true, 1, to);
  }
  write_scan(info, to);
}

}  // namespace bale::image_detail
