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
/// A block has at most 63 symbols with 31 bits each, three for sixteen zeros, and as many corrections; those of a run
/// have 1,000 bits before its symbol.
constexpr std::size_t k_most_bytes_of_unit = 512;

constexpr std::uint64_t bits_of(std::uint32_t first, std::uint32_t last) {
  return ~std::uint64_t{0} << first & ~std::uint64_t{0} >> (63 - last);
}

}  // namespace

void ProgressiveEncoder::open(bool zeros) {
  zeros_ = zeros;
  mcu_row_ = 0;
  most_low_ = 0;
  scans_.clear();
}

bool ProgressiveEncoder::add_scan(const ProgressiveScans& scans) {
  Scan& scan = scans_.emplace_back();
  scan.header = scans.scan();
  scan.restart_interval = scan.units_to_restart = scans.restart_interval();
  most_low_ = std::max(most_low_, scan.header.low);
  if (scan.header.is_dc() && scan.header.refines()) return true;
  for (std::uint32_t i = 0; i < scan.header.num_components; ++i) {
    const JHUFF_TBL* const table = scan.header.is_dc() ? scans.dc_table(i) : scans.ac_table(i);
    if (table == nullptr || !scan.codes[i].take(table->bits, table->huffval)) return false;
  }
  return true;
}

void ProgressiveEncoder::add_row(const CoefficientPlanes& planes) {
  find_magnitudes(planes);
  for (Scan& scan : scans_) {
    if (scan.header.num_components > 1) {
      add_mcus(scan, planes);
    } else {
      add_blocks(scan, planes.planes()[scan.header.components[0]]);
    }
  }
  ++mcu_row_;
}

bool ProgressiveEncoder::finish(std::size_t scan, std::vector<std::byte>& out) {
  Scan& from = scans_[scan];
  out.insert(out.end(), from.done.begin(), from.done.end());
  from.end_segment(zeros_, out);
  return from.has_every_code;
}

void ProgressiveEncoder::find_magnitudes(const CoefficientPlanes& planes) {
  for (std::size_t i = 0; i < planes.planes().size(); ++i) {
    const std::span<const std::int16_t> row = planes.planes()[i].row(0);
    const std::size_t num_blocks = row.size() / 64;
    magnitudes_[i].resize(num_blocks * (most_low_ + 1));
    for (std::uint32_t bit = 0; bit <= most_low_; ++bit) {
      symbol_kernels().find_magnitudes(row.data(), num_blocks, bit, magnitudes_[i].data() + bit * num_blocks);
    }
  }
}

void ProgressiveEncoder::begin_unit(Scan& scan) const {
  scan.make_room();
  if (scan.restart_interval == 0) return;
  if (scan.units_to_restart == 0) {
    scan.end_segment(zeros_, scan.done);
    scan.done.insert(scan.done.end(),
                     {std::byte{0xFF}, static_cast<std::byte>(jpeg_marker::k_rst0 + scan.next_restart)});
    scan.next_restart = (scan.next_restart + 1) % 8;
    scan.units_to_restart = scan.restart_interval;
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
  const std::size_t num_blocks = std::size_t{plane.across} * plane.mcu_down;
  const std::uint64_t* const magnitudes = magnitudes_[scan.header.components[0]].data();
  const std::uint64_t band = bits_of(scan.header.first, scan.header.last);
  for (std::uint32_t row = 0; row < plane.mcu_down && mcu_row_ * plane.mcu_down + row < plane.real_down; ++row) {
    for (std::uint32_t column = 0; column < plane.real_across; ++column) {
      begin_unit(scan);
      const std::int16_t* const block = plane.block(column, row);
      const std::size_t at = std::size_t{row} * plane.across + column;
      const std::uint64_t nonzero = magnitudes[scan.header.low * num_blocks + at] & band;
      if (scan.header.is_dc()) {
        scan.put_dc(0, *block);
      } else if (scan.header.refines()) {
        const std::uint64_t known = magnitudes[scan.header.high * num_blocks + at] & band;
        scan.put_refinement(block, nonzero & ~known, known);
      } else {
        scan.put_first(block, nonzero);
      }
    }
  }
}

/// For what a unit may write.
void ProgressiveEncoder::Scan::make_room() {
  const auto used = static_cast<std::size_t>(writer.to - raw.data());
  if (used + k_most_bytes_of_unit <= raw.size()) [[likely]]
    return;
  raw.resize(2 * raw.size() + k_most_bytes_of_unit);
  writer.to = raw.data() + used;
}

void ProgressiveEncoder::Scan::put(const FewBits& few) {
  writer.put(few.bits >> 32, few.count > 32 ? few.count - 32 : 0);
  writer.put(few.bits & 0xFFFFFFFF, std::min(few.count, 32u));
}

/// And the `size` bits of a value after it.
void ProgressiveEncoder::Scan::put_symbol(std::size_t component, std::uint32_t symbol, std::uint32_t value,
                                          std::uint32_t size) {
  const OptimalCodes& code = codes[component];
  has_every_code = has_every_code && code.lengths[symbol] != 0;
  writer.put(std::uint64_t{code.codes[symbol]} << size | value, code.lengths[symbol] + size);
}

/// T.81, F.1.2.1: a symbol for the size of a value and the zeros before it.
void ProgressiveEncoder::Scan::put_value(std::size_t component, std::uint32_t run_before, std::int32_t value) {
  const auto size = static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint32_t>(std::abs(value))));
  const std::uint32_t bits = static_cast<std::uint32_t>(value < 0 ? value - 1 : value);
  put_symbol(component, run_before << 4 | size, bits & ((std::uint32_t{1} << size) - 1), size);
}

void ProgressiveEncoder::Scan::put_dc(std::size_t component, std::int32_t value) {
  value >>= header.low;
  if (header.refines()) {
    writer.put(static_cast<std::uint32_t>(value) & 1, 1);
  } else {
    put_value(component, 0, value - predictions[component]);
    predictions[component] = value;
  }
}

/// T.81, G.1.2.2.
void ProgressiveEncoder::Scan::put_first(const std::int16_t* block, std::uint64_t nonzero) {
  std::uint32_t next = header.first;
  if (nonzero != 0) end_run();
  for (; nonzero != 0; nonzero &= nonzero - 1) {
    const auto k = static_cast<std::uint32_t>(std::countr_zero(nonzero));
    const std::int32_t magnitude = std::abs(block[k]) >> header.low;
    for (; k - next > 15; next += 16) put_symbol(0, k_sixteen_zeros);
    put_value(0, k - next, block[k] < 0 ? -magnitude : magnitude);
    next = k + 1;
  }
  if (next <= header.last) end_block({});
}

/// T.81, G.1.2.3: `found` are those that have their highest bit now, `known` those that had it before. Symbols count
/// the zeros between, and are followed by corrections of those that they pass.
void ProgressiveEncoder::Scan::put_refinement(const std::int16_t* block, std::uint64_t found, std::uint64_t known) {
  std::uint64_t rest = bits_of(header.first, header.last);
  if (found != 0) end_run();
  for (; found != 0; found &= found - 1) {
    const auto k = static_cast<std::uint32_t>(std::countr_zero(found));
    std::uint64_t passed = rest & ((std::uint64_t{1} << k) - 1);
    std::uint64_t zeros = passed & ~known;
    auto num_zeros = static_cast<std::uint32_t>(std::popcount(zeros));
    for (; num_zeros > 15; num_zeros -= 16) {
      for (int i = 0; i < 15; ++i) zeros &= zeros - 1;
      const std::uint64_t to_sixteenth = zeros ^ (zeros - 1);
      put_symbol(0, k_sixteen_zeros);
      put(corrections_of(block, passed & to_sixteenth & known));
      passed &= ~to_sixteenth;
      zeros &= zeros - 1;
    }
    put_symbol(0, num_zeros << 4 | 1, block[k] < 0 ? 0 : 1, 1);
    put(corrections_of(block, passed & known));
    rest &= ~std::uint64_t{1} << k;
  }
  if (rest != 0) end_block(corrections_of(block, rest & known));
}

/// The next bits of these coefficients.
ProgressiveEncoder::FewBits ProgressiveEncoder::Scan::corrections_of(const std::int16_t* block,
                                                                     std::uint64_t which) const {
  FewBits few;
  for (; which != 0; which &= which - 1, ++few.count) {
    const int magnitude = std::abs(block[std::countr_zero(which)]) >> header.low;
    few.bits = few.bits << 1 | static_cast<std::uint64_t>(magnitude & 1);
  }
  return few;
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
  put_symbol(0, size << 4, run ^ 1u << size, size);
  for (const FewBits& few : corrections) put(few);
  run = num_corrections = 0;
  corrections.clear();
}

void ProgressiveEncoder::Scan::end_segment(bool zeros, std::vector<std::byte>& out) {
  make_room();
  end_run();
  writer.fill_byte(zeros);
  append_stuffed({raw.data(), writer.to}, out);
  writer.to = raw.data();
}

}  // namespace bale::image_detail
