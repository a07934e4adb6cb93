#include "bale/formats/image/jpeg/transcode/progressive_encoder.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "bale/formats/image/jpeg/header/jpeg_markers.hpp"

namespace bale::image_detail {
namespace {

constexpr std::uint32_t k_longest_run = 0x7FFF;
constexpr std::uint32_t k_most_corrections = 937;
constexpr std::uint32_t k_sixteen_zeros = 0xF0;

constexpr std::uint64_t bits_of(std::uint32_t first, std::uint32_t last) {
  return ~std::uint64_t{0} << first & ~std::uint64_t{0} >> (63 - last);
}

}  // namespace

void ProgressiveEncoder::open(const BaselineFrame& frame, bool zeros) {
  restart_interval_ = frame.restart_interval;
  zeros_ = zeros;
  mcu_row_ = 0;
  scans_.clear();
}

bool ProgressiveEncoder::add_scan(const ProgressiveScans& scans) {
  Scan& scan = scans_.emplace_back();
  scan.header = scans.scan();
  scan.units_to_restart = restart_interval_;
  if (scan.header.is_dc() && scan.header.refines()) return true;
  for (std::uint32_t i = 0; i < scan.header.num_components; ++i) {
    const JHUFF_TBL* const table = scan.header.is_dc() ? scans.dc_table(i) : scans.ac_table(i);
    if (table == nullptr || !scan.codes[i].take(table->bits, table->huffval)) return false;
  }
  return true;
}

bool ProgressiveEncoder::add_row(const CoefficientPlanes& planes) {
  find_nonzero(planes);
  for (Scan& scan : scans_) {
    if (scan.header.num_components > 1) {
      add_mcus(scan, planes);
    } else {
      add_blocks(scan, planes.planes()[scan.header.components[0]]);
    }
    if (!scan.has_every_code) return false;
  }
  ++mcu_row_;
  return true;
}

void ProgressiveEncoder::finish(std::size_t scan, std::vector<std::byte>& out) {
  Scan& from = scans_[scan];
  from.end_run();
  from.fill_byte(zeros_);
  out.insert(out.end(), from.out.begin(), from.out.end());
}

void ProgressiveEncoder::find_nonzero(const CoefficientPlanes& planes) {
  for (std::size_t i = 0; i < planes.planes().size(); ++i) {
    const std::span<const std::int16_t> row = planes.planes()[i].row(0);
    nonzero_[i].resize(row.size() / 64);
    const std::int16_t* block = row.data();
    for (std::uint64_t& mask : nonzero_[i]) {
      mask = 0;
      for (std::uint32_t k = 0; k < 64; ++k) mask |= std::uint64_t{block[k] != 0} << k;
      block += 64;
    }
  }
}

void ProgressiveEncoder::begin_unit(Scan& scan) const {
  if (restart_interval_ == 0) return;
  if (scan.units_to_restart == 0) {
    scan.end_run();
    scan.fill_byte(zeros_);
    scan.out.insert(scan.out.end(), {std::byte{0xFF}, static_cast<std::byte>(jpeg_marker::k_rst0 + scan.next_restart)});
    scan.next_restart = (scan.next_restart + 1) % 8;
    scan.units_to_restart = restart_interval_;
    scan.predictions.fill(0);
  }
  --scan.units_to_restart;
}

/// Only DC scans have several components.
void ProgressiveEncoder::add_mcus(Scan& scan, const CoefficientPlanes& planes) const {
  const std::uint32_t num_mcus = planes.planes()[0].across / planes.planes()[0].mcu_across;
  for (std::uint32_t mcu = 0; mcu < num_mcus; ++mcu) {
    begin_unit(scan);
    for (std::uint32_t i = 0; i < scan.header.num_components; ++i) {
      const CoefficientPlanes::Plane& plane = planes.planes()[scan.header.components[i]];
      for (std::uint32_t row = 0; row < plane.mcu_down; ++row) {
        for (std::uint32_t column = 0; column < plane.mcu_across; ++column) {
          scan.put_dc(i, *plane.block(mcu * plane.mcu_across + column, row));
        }
      }
    }
  }
}

/// Those that only fill MCUs are not in a scan of one component.
void ProgressiveEncoder::add_blocks(Scan& scan, const CoefficientPlanes::Plane& plane) const {
  const std::vector<std::uint64_t>& nonzero = nonzero_[scan.header.components[0]];
  const std::uint64_t band = bits_of(scan.header.first, scan.header.last);
  for (std::uint32_t row = 0; row < plane.mcu_down && mcu_row_ * plane.mcu_down + row < plane.real_down; ++row) {
    for (std::uint32_t column = 0; column < plane.real_across; ++column) {
      begin_unit(scan);
      const std::int16_t* const block = plane.block(column, row);
      const std::uint64_t in_band = nonzero[std::size_t{row} * plane.across + column] & band;
      if (scan.header.is_dc()) {
        scan.put_dc(0, *block);
      } else if (scan.header.refines()) {
        scan.put_refinement(block, in_band);
      } else {
        scan.put_first(block, in_band);
      }
    }
  }
}

/// At most 56 bits. A zero follows each FF (T.81, F.1.2.3).
void ProgressiveEncoder::Scan::put(std::uint64_t value, std::uint32_t count) {
  unfilled.bits = unfilled.bits << count | value;
  for (unfilled.count += count; unfilled.count >= 8;) {
    const auto byte = static_cast<std::byte>(unfilled.bits >> (unfilled.count -= 8) & 0xFF);
    out.push_back(byte);
    if (byte == std::byte{0xFF}) out.push_back(std::byte{0});
  }
}

void ProgressiveEncoder::Scan::put(const FewBits& few) {
  put(few.bits >> 32, few.count > 32 ? few.count - 32 : 0);
  put(few.bits & 0xFFFFFFFF, std::min(few.count, 32u));
}

void ProgressiveEncoder::Scan::put_symbol(std::size_t component, std::uint32_t symbol) {
  const OptimalCodes& code = codes[component];
  has_every_code = has_every_code && code.lengths[symbol] != 0;
  put(code.codes[symbol], code.lengths[symbol]);
}

/// The symbol of a value and of the zeros before it, and its bits (T.81, F.1.2.1).
void ProgressiveEncoder::Scan::put_size(std::size_t component, std::uint32_t run_before, std::int32_t value) {
  const auto size = static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint32_t>(std::abs(value))));
  put_symbol(component, run_before << 4 | size);
  put(static_cast<std::uint32_t>(value < 0 ? value - 1 : value) & ((std::uint32_t{1} << size) - 1), size);
}

void ProgressiveEncoder::Scan::put_dc(std::size_t component, std::int32_t value) {
  value >>= header.low;
  if (header.refines()) {
    put(static_cast<std::uint32_t>(value) & 1, 1);
  } else {
    put_size(component, 0, value - predictions[component]);
    predictions[component] = value;
  }
}

/// T.81, G.1.2.2.
void ProgressiveEncoder::Scan::put_first(const std::int16_t* block, std::uint64_t nonzero) {
  std::uint32_t next = header.first;
  for (; nonzero != 0; nonzero &= nonzero - 1) {
    const auto k = static_cast<std::uint32_t>(std::countr_zero(nonzero));
    const std::int32_t magnitude = std::abs(block[k]) >> header.low;
    if (magnitude == 0) continue;
    end_run();
    for (; k - next > 15; next += 16) put_symbol(0, k_sixteen_zeros);
    put_size(0, k - next, block[k] < 0 ? -magnitude : magnitude);
    next = k + 1;
  }
  if (next <= header.last) end_block({});
}

/// T.81, G.1.2.3. Zeros that have a symbol are among those that were zero before; corrections of those that were not
/// follow the symbol.
void ProgressiveEncoder::Scan::put_refinement(const std::int16_t* block, std::uint64_t nonzero) {
  std::uint64_t known = 0;
  std::uint64_t found = 0;  // now
  for (; nonzero != 0; nonzero &= nonzero - 1) {
    const std::int32_t magnitude = std::abs(block[std::countr_zero(nonzero)]) >> header.low;
    const std::uint64_t bit = nonzero & -nonzero;
    known |= magnitude > 0 ? bit : 0;
    found |= magnitude == 1 ? bit : 0;
  }
  FewBits corrected;
  std::uint32_t zeros = 0;
  std::uint32_t next = header.first;
  for (; known != 0; known &= known - 1) {
    const auto k = static_cast<std::uint32_t>(std::countr_zero(known));
    zeros += k - next;
    next = k + 1;
    for (; zeros > 15 && found >> k != 0; zeros -= 16) {
      end_run();
      put_symbol(0, k_sixteen_zeros);
      put(corrected);
      corrected = {};
    }
    if ((found >> k & 1) == 0) {
      corrected = {corrected.bits << 1 | (std::abs(block[k]) >> header.low & 1), corrected.count + 1};
      continue;
    }
    end_run();
    put_symbol(0, zeros << 4 | 1);
    put(block[k] < 0 ? 0 : 1, 1);
    put(corrected);
    corrected = {};
    zeros = 0;
  }
  if (zeros > 0 || next <= header.last || corrected.count > 0) end_block(corrected);
}

void ProgressiveEncoder::Scan::end_block(const FewBits& corrected) {
  ++run;
  if (corrected.count > 0) corrections.push_back(corrected);
  num_corrections += corrected.count;
  if (run == k_longest_run || num_corrections > k_most_corrections) end_run();
}

void ProgressiveEncoder::Scan::end_run() {
  if (run == 0) return;
  const auto size = static_cast<std::uint32_t>(std::bit_width(run)) - 1;
  put_symbol(0, size << 4);
  put(run ^ 1u << size, size);
  for (const FewBits& few : corrections) put(few);
  run = num_corrections = 0;
  corrections.clear();
}

void ProgressiveEncoder::Scan::fill_byte(bool zeros) {
  const std::uint32_t free = (8 - unfilled.count) % 8;
  put(zeros ? 0 : (1u << free) - 1, free);
  unfilled = {};
}

}  // namespace bale::image_detail
