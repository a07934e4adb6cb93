#include "bale/formats/image/jpeg/jpeg_transcoder.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "bale/formats/image/jpeg/decoder_choice.hpp"
#include "bale/formats/image/jpeg/jpeg_segments.hpp"

namespace bale::image_detail {
namespace {

// Of larger images, which take much memory, each costs so much time in any case that libjpeg's way is good enough.
constexpr std::uint64_t k_max_blocks = std::uint64_t{1} << 20;
constexpr std::size_t k_bytes_of_tables = 2048;

std::atomic<std::uint64_t> g_count{0};

std::optional<BaselineFrame> frame_of(const jpeg_decompress_struct& info) {
  std::optional<BaselineFrame> frame = info.progressive_mode ? progressive_frame(info) : baseline_frame(info);
  if (!frame) return std::nullopt;
  const BaselineComponent& luma = frame->components[0];
  const std::uint64_t mcus = std::uint64_t{frame->mcus_across} * frame->mcus_down;
  if (mcus * (luma.blocks_across * luma.blocks_down + 2) > k_max_blocks) return std::nullopt;
  return frame;
}

bool same_markers(jpeg_saved_marker_ptr a, jpeg_saved_marker_ptr b) {
  for (; a != nullptr && b != nullptr; a = a->next, b = b->next) {
    if (a->marker != b->marker || a->data_length != b->data_length) return false;
    if (a->data_length != 0 && std::memcmp(a->data, b->data, a->data_length) != 0) return false;
  }
  return a == b;
}

bool same_components(const jpeg_decompress_struct& a, const jpeg_decompress_struct& b) {
  if (a.num_components != b.num_components) return false;
  for (int i = 0; i < a.num_components; ++i) {
    const jpeg_component_info& of_a = a.comp_info[i];
    const jpeg_component_info& of_b = b.comp_info[i];
    if (of_a.component_id != of_b.component_id || of_a.h_samp_factor != of_b.h_samp_factor ||
        of_a.v_samp_factor != of_b.v_samp_factor) {
      return false;
    }
    const JQUANT_TBL* const table_a = a.quant_tbl_ptrs[of_a.quant_tbl_no];
    const JQUANT_TBL* const table_b = b.quant_tbl_ptrs[of_b.quant_tbl_no];
    if (table_b == nullptr || !std::ranges::equal(table_a->quantval, table_b->quantval)) return false;
  }
  return true;
}

/// Whether equal coefficients mean equal pixels, and nothing else was lost.
bool same_header(const jpeg_decompress_struct& a, const jpeg_decompress_struct& b) {
  return a.image_width == b.image_width && a.image_height == b.image_height &&
         a.jpeg_color_space == b.jpeg_color_space && same_components(a, b) && same_markers(a.marker_list, b.marker_list);
}

std::size_t bytes_of_markers(jpeg_saved_marker_ptr marker) {
  std::size_t bytes = 0;
  for (; marker != nullptr; marker = marker->next) bytes += 4 + marker->data_length;
  return bytes;
}

}  // namespace

std::uint64_t transcoded_count() { return g_count; }

std::optional<std::vector<std::byte>> JpegTranscoder::transcode(const JpegDecoder& from, std::size_t end) {
  const BaselineUse use = baseline_use();
  if (use == BaselineUse::never || from.has_warnings()) return std::nullopt;
  plain_ = use == BaselineUse::plain;
  const jpeg_decompress_struct& info = from.info();
  const std::optional<BaselineFrame> frame = frame_of(info);
  if (!frame || !read(info, *frame)) return std::nullopt;
  if (!encoder_.open(symbols_, frame->num_components == 1 ? 2 : k_scan_tables, plain_)) return std::nullopt;
  std::vector<std::byte> out;
  if (encoder_.raw_size() < end) {
    out.reserve(encoder_.raw_size() + encoder_.raw_size() / 64 + bytes_of_markers(info.marker_list) + k_bytes_of_tables);
    append_segments(info, encoder_, out);
    encoder_.write(frame->mcus_down, out, points_);
    out.insert(out.end(), {std::byte{0xFF}, std::byte{0xD9}});
  }
  if (out.size() >= end) out.clear();
  if (!out.empty() && !is_equal(info, out)) return std::nullopt;
  g_count.fetch_add(1, std::memory_order_relaxed);
  return out;
}

bool JpegTranscoder::read(const jpeg_decompress_struct& info, const BaselineFrame& frame) {
  planes_.open(frame);
  symbols_.open();
  const bool rows_come = !info.progressive_mode;
  if (!(rows_come ? reader_.begin_baseline(frame, planes_, plain_)
                  : reader_.read_progressive(info, frame, planes_, plain_))) {
    return false;
  }
  for (std::uint32_t row = 0; row < frame.mcus_down; ++row) {
    if (rows_come && !reader_.next_row(planes_, row)) return false;
    planes_.fill_mcus(row);
    if (!symbols_.add_row(planes_, row)) return false;
  }
  return !rows_come || reader_.ends_exactly();
}

bool JpegTranscoder::is_equal(const jpeg_decompress_struct& info, Bytes written) {
  JpegDecoder again;
  try {
    again.open(written, JpegDecoder::Markers::keep);
  } catch (const Error&) {
    return false;
  }
  if (again.has_warnings() || !same_header(info, again.info())) return false;
  const std::optional<BaselineFrame> frame = baseline_frame(again.info());
  return frame && reader_.compare(*frame, planes_, points_, plain_);
}

}  // namespace bale::image_detail
