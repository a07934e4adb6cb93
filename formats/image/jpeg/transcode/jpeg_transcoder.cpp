#include "bale/formats/image/jpeg/transcode/jpeg_transcoder.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "bale/formats/image/jpeg/decode/baseline_decoder.hpp"
#include "bale/formats/image/jpeg/transcode/baseline_encoder.hpp"

namespace bale::image_detail {
namespace {

// Of larger images, which take much memory, each costs so much time in any case that libjpeg's way is good enough.
constexpr std::uint64_t k_max_transcoded_blocks = std::uint64_t{1} << 20;
constexpr std::size_t k_keep_bytes = std::size_t{4} << 20;

constexpr std::uint32_t k_zero_run = 0xF0;

std::atomic<std::uint64_t> g_transcoded_count{0};

std::optional<BaselineFrame> transcoded_frame(const jpeg_decompress_struct& info) {
  std::optional<BaselineFrame> frame = info.progressive_mode ? progressive_frame(info) : baseline_frame(info);
  return frame && frame->num_blocks() <= k_max_transcoded_blocks ? frame : std::nullopt;
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
         a.jpeg_color_space == b.jpeg_color_space && same_components(a, b) &&
         same_markers(a.marker_list, b.marker_list);
}

bool same_codes(const OptimalCodes& ours, const JHUFF_TBL& theirs) {
  return std::equal(ours.num_codes.begin() + 1, ours.num_codes.end(), theirs.bits + 1) &&
         std::equal(ours.symbols.begin(), ours.symbols.begin() + ours.num_symbols, theirs.huffval);
}

}  // namespace

std::uint64_t transcoded_count() { return g_transcoded_count; }

std::optional<Bytes> JpegTranscoder::transcode(const JpegDecoder& from, std::size_t end) {
  const BaselineUse use = baseline_use();
  if (use == BaselineUse::never || from.has_warnings()) return std::nullopt;
  plain_ = use == BaselineUse::plain;
  const jpeg_decompress_struct& info = from.info();
  const std::optional<BaselineFrame> frame = transcoded_frame(info);
  if (!frame || !read(info, *frame)) return std::nullopt;
  const bool is_counted = !info.progressive_mode && take_counts(*frame);
  if (!is_counted && !make_symbols(*frame, true)) return std::nullopt;
  if (!encoder_.open(symbols_, frame->num_components == 1 ? 2 : k_scan_tables, plain_)) return std::nullopt;
  if (out_.capacity() > k_keep_bytes) out_ = {};
  out_.clear();
  append_segments(info, encoder_, out_);
  const bool grows = out_.size() + encoder_.num_bits() / 8 >= end ||
                     (has_the_same_scan(*frame) && out_.size() + frame->scan.size() >= end);
  if (!grows) {
    if (is_counted && !make_symbols(*frame, false)) return std::nullopt;
    encoder_.write(frame->mcus_down, out_, points_);
    out_.insert(out_.end(), {std::byte{0xFF}, std::byte{0xD9}});
  }
  if (grows || out_.size() >= end) {
    out_.clear();
  } else if (!is_equal(info)) {
    return std::nullopt;
  }
  g_transcoded_count.fetch_add(1, std::memory_order_relaxed);
  return out_;
}

/// Whether writing the scan would give the very bytes that were read. With the same codes, coefficients that are
/// written in any other way than libjpeg's take more bits.
bool JpegTranscoder::has_the_same_scan(const BaselineFrame& frame) const {
  if (frame.components[0].dc_codes == nullptr || frame.restart_interval != 0 || fills_mcus_differently_) return false;
  for (std::size_t i = 0; i < frame.num_components; ++i) {
    const auto dc = static_cast<ScanTable>(2 * codes_of_component(i));
    const auto ac = static_cast<ScanTable>(2 * codes_of_component(i) + 1);
    if (!same_codes(encoder_.codes(dc), *frame.components[i].dc_codes)) return false;
    if (!same_codes(encoder_.codes(ac), *frame.components[i].ac_codes)) return false;
  }
  return encoder_.num_bits() == reader_.num_bits();
}

bool JpegTranscoder::read(const jpeg_decompress_struct& info, const BaselineFrame& frame) {
  planes_.open(frame);
  fills_mcus_differently_ = false;
  long_runs_ = 0;
  const bool rows_come = !info.progressive_mode;
  if (rows_come) {
    if (!reader_.begin_baseline(frame, planes_, plain_)) return false;
  } else {
    const std::optional<Bytes> after_end = reader_.read_progressive(info, frame, planes_, plain_);
    if (!after_end || !after_end->empty() || reader_.scans().has_late_metadata()) return false;
  }
  for (std::uint32_t row = 0; row < frame.mcus_down; ++row) {
    if (rows_come && !reader_.next_row(planes_, row)) return false;
    if (planes_.fill_mcus(row)) fills_mcus_differently_ = true;
    if (rows_come) long_runs_ += count_long_runs(planes_, row);
  }
  return !rows_come || reader_.ends_exactly();
}

/// Takes the counts of the symbols from the file, which are those of libjpeg unless blocks or predictions are others,
/// or sixteen zeros have a symbol although no coefficient follows. Then false.
bool JpegTranscoder::take_counts(const BaselineFrame& frame) {
  if (frame.restart_interval != 0 || fills_mcus_differently_) return false;
  symbols_.open();
  std::uint64_t long_runs = 0;
  for (const bool of_luma : {true, false}) {
    SymbolCounts dc{};
    SymbolCounts ac{};
    reader_.add_counts(of_luma, dc, ac);
    long_runs += ac[k_zero_run];
    symbols_.set_counts(of_luma ? ScanTable::luma_dc : ScanTable::chroma_dc, dc);
    symbols_.set_counts(of_luma ? ScanTable::luma_ac : ScanTable::chroma_ac, ac);
  }
  return long_runs == long_runs_;
}

bool JpegTranscoder::make_symbols(const BaselineFrame& frame, bool counts) {
  if (counts) symbols_.open();
  for (std::uint32_t row = 0; row < frame.mcus_down; ++row) {
    if (!symbols_.add_row(planes_, row, counts)) return false;
  }
  return true;
}

bool JpegTranscoder::is_equal(const jpeg_decompress_struct& info) {
  JpegDecoder again;
  try {
    again.open(out_, JpegDecoder::Markers::keep);
  } catch (const Error&) {
    return false;
  }
  if (again.has_warnings() || !same_header(info, again.info())) return false;
  const std::optional<BaselineFrame> frame = baseline_frame(again.info());
  return frame && reader_.compare(*frame, planes_, points_, plain_);
}

}  // namespace bale::image_detail
