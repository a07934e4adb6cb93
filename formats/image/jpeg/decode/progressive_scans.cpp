#include "bale/formats/image/jpeg/decode/progressive_scans.hpp"

#include <algorithm>

#include "bale/formats/image/jpeg/header/jpeg_markers.hpp"

namespace bale::image_detail {
namespace {

constexpr std::int8_t k_unknown = -1;
// More than any encoder writes. Each scan may take a pass over the whole image: libjpeg's way has a limit for this,
// too.
constexpr std::uint32_t k_max_scans = 100;
constexpr std::uint32_t k_max_low = 13;

bool is_skipped(std::uint32_t marker) {
  using namespace jpeg_marker;
  return marker == k_com || (marker >= k_app0 && marker <= k_app15);
}

}  // namespace

bool ProgressiveScans::open(const jpeg_decompress_struct& info) {
  restart_interval_ = info.restart_interval;
  num_scans_ = 0;
  has_late_metadata_ = false;
  num_components_ = static_cast<std::uint32_t>(info.num_components);
  for (std::size_t i = 0; i < 4; ++i) {
    dc_[i].defined = info.dc_huff_tbl_ptrs[i] != nullptr;
    if (dc_[i].defined) dc_[i].table = *info.dc_huff_tbl_ptrs[i];
    ac_[i].defined = info.ac_huff_tbl_ptrs[i] != nullptr;
    if (ac_[i].defined) ac_[i].table = *info.ac_huff_tbl_ptrs[i];
  }
  for (std::uint32_t i = 0; i < num_components_; ++i) {
    ids_[i] = static_cast<std::uint32_t>(info.comp_info[i].component_id);
    if (component_with(ids_[i]) != i) return false;
    known_[i].fill(k_unknown);
  }
  const auto value = [](int number) { return static_cast<std::uint32_t>(number); };
  scan_ = {.num_components = value(info.comps_in_scan),
           .first = value(info.Ss),
           .last = value(info.Se),
           .high = value(info.Ah),
           .low = value(info.Al)};
  for (std::uint32_t i = 0; i < std::min(scan_.num_components, 3u); ++i) {
    const jpeg_component_info& component = *info.cur_comp_info[i];
    scan_.components[i] = value(component.component_index);
    scan_.dc_tables[i] = value(component.dc_tbl_no);
    scan_.ac_tables[i] = value(component.ac_tbl_no);
  }
  data_ = {reinterpret_cast<const std::byte*>(info.src->next_input_byte), info.src->bytes_in_buffer};
  return take_scan();
}

/// Checks the scan's header, and notes which bits are known after it.
bool ProgressiveScans::take_scan() {
  if (++num_scans_ > k_max_scans || scan_.num_components == 0 || scan_.num_components > num_components_) return false;
  if (scan_.is_dc() ? scan_.last != 0 : scan_.num_components != 1) return false;
  if (scan_.last < scan_.first || scan_.last > 63 || scan_.low > k_max_low) return false;
  if (scan_.refines() && scan_.high != scan_.low + 1) return false;
  std::uint32_t end = 0;  // in the order of the frame
  for (std::uint32_t i = 0; i < scan_.num_components; ++i) {
    if (scan_.components[i] < end || scan_.dc_tables[i] > 3 || scan_.ac_tables[i] > 3) return false;
    end = scan_.components[i] + 1;
    auto& known = known_[scan_.components[i]];
    if (!scan_.is_dc() && known[0] == k_unknown) return false;
    const auto before = static_cast<std::int8_t>(scan_.refines() ? static_cast<int>(scan_.high) : k_unknown);
    for (std::uint32_t at = scan_.first; at <= scan_.last; ++at) {
      if (known[at] != before) return false;
      known[at] = static_cast<std::int8_t>(scan_.low);
    }
  }
  return true;
}

ProgressiveScans::Next ProgressiveScans::go_on(std::uint32_t marker, Bytes rest) {
  while (true) {
    if (marker == jpeg_marker::k_eoi) {
      data_ = rest;
      return Next::end;
    }
    const ByteReader in(rest);
    if (!in.has(0, 2) || in.be16(0) < 2 || !in.has(0, in.be16(0))) return Next::refused;
    const std::size_t length = in.be16(0);
    const Bytes segment = rest.subspan(2, length - 2);
    rest = rest.subspan(length);
    if (marker == jpeg_marker::k_sos) {
      data_ = rest;
      return read_scan(segment) && take_scan() ? Next::scan : Next::refused;
    }
    if (marker == jpeg_marker::k_dht) {
      if (!read_tables(segment)) return Next::refused;
    } else if (marker == jpeg_marker::k_dri && segment.size() == 2) {
      restart_interval_ = in.be16(2);
    } else if (is_skipped(marker)) {
      has_late_metadata_ = true;
    } else {
      return Next::refused;
    }
    const ByteReader after(rest);
    if (!after.has(0, 2) || after.u8(0) != 0xFF) return Next::refused;
    marker = after.u8(1);
    rest = rest.subspan(2);
  }
}

ProgressiveScans::Next ProgressiveScans::go_on_without_data() {
  const ByteReader in(data_);
  if (!in.has(0, 2) || in.u8(0) != 0xFF) return Next::refused;
  return go_on(in.u8(1), data_.subspan(2));
}

/// T.81, B.2.4.2.
bool ProgressiveScans::read_tables(Bytes segment) {
  const ByteReader in(segment);
  for (std::size_t at = 0; at < in.size();) {
    if (!in.has(at, 17)) return false;
    const std::uint32_t kind = in.u8(at);
    if ((kind & ~0x13u) != 0) return false;
    Table& to = (kind < 4 ? dc_ : ac_)[kind & 3];
    std::uint32_t count = 0;
    to.table.bits[0] = 0;
    for (std::size_t length = 1; length <= 16; ++length) {
      to.table.bits[length] = static_cast<UINT8>(in.u8(at + length));
      count += in.u8(at + length);
    }
    at += 17;
    if (count > 256 || !in.has(at, count)) return false;
    std::fill(std::begin(to.table.huffval), std::end(to.table.huffval), UINT8{0});
    std::copy_n(in.data() + at, count, to.table.huffval);
    to.defined = true;
    at += count;
  }
  return true;
}

/// T.81, B.2.3.
bool ProgressiveScans::read_scan(Bytes segment) {
  const ByteReader in(segment);
  if (!in.has(0, 1)) return false;
  scan_ = {.num_components = in.u8(0)};
  if (scan_.num_components == 0 || scan_.num_components > 3 || in.size() != 4 + 2 * scan_.num_components) return false;
  for (std::uint32_t i = 0; i < scan_.num_components; ++i) {
    scan_.components[i] = component_with(in.u8(1 + 2 * i));
    if (scan_.components[i] == num_components_) return false;
    scan_.dc_tables[i] = in.u8(2 + 2 * i) >> 4;
    scan_.ac_tables[i] = in.u8(2 + 2 * i) & 15;
  }
  const std::size_t at = 1 + 2 * scan_.num_components;
  scan_.first = in.u8(at);
  scan_.last = in.u8(at + 1);
  scan_.high = in.u8(at + 2) >> 4;
  scan_.low = in.u8(at + 2) & 15;
  return true;
}

/// num_components_ if there is none.
std::uint32_t ProgressiveScans::component_with(std::uint32_t id) const {
  return static_cast<std::uint32_t>(std::find(ids_.begin(), ids_.begin() + num_components_, id) - ids_.begin());
}

bool ProgressiveScans::is_complete_to(std::size_t end) const {
  return std::all_of(known_.begin(), known_.begin() + num_components_, [end](const auto& known) {
    return std::all_of(known.begin(), known.begin() + end, [](int low) { return low == 0; });
  });
}

}  // namespace bale::image_detail
