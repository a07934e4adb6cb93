#include "bale/formats/image/jpeg/progressive_entropy.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "bale/formats/base/rounding.hpp"
#include "bale/formats/image/jpeg/cpu_bits.hpp"
#include "bale/formats/image/jpeg/jpeg_markers.hpp"

namespace bale::image_detail {
namespace {

using Places = std::array<std::uint16_t, 64>;

constexpr Places make_places(std::uint32_t group_shift) {
  Places places{};
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = place_in_group(i, group_shift);
  return places;
}

constexpr Places k_places[3] = {make_places(0), make_places(1), make_places(2)};

constexpr std::uint32_t k_max_ac_size = 10;
// The range of a coefficient, shifts included.
constexpr std::uint32_t k_max_bits = 14;
constexpr std::int32_t k_max_dc = (1 << k_max_bits) - 1;
// The bits that are there after a refill.
constexpr std::uint32_t k_refilled = 56;

constexpr std::uint64_t bits_from(std::uint32_t k) { return ~std::uint64_t{0} << k; }
constexpr std::uint64_t bits_to(std::uint32_t last) { return ~std::uint64_t{0} >> (63 - last); }

}  // namespace

void ProgressiveEntropy::open(const BaselineFrame& frame, std::span<BlockPlane> planes, std::uint32_t group_shift,
                              bool plain) {
  planes_ = planes;
  mcus_across_ = frame.mcus_across;
  end_mcu_row_ = planes[0].end_row / planes[0].mcu_down;
  restart_interval_ = frame.restart_interval;
  group_shift_ = group_shift;
  places_ = k_places[group_shift].data();
  has_bmi2_ = !plain && cpu_has_bmi2();
  for (BlockPlane& plane : planes) {
    plane.masks.assign(std::size_t{plane.blocks_across} * std::min(plane.end_row, plane.blocks_down), 0);
  }
}

bool ProgressiveEntropy::decode(const ProgressiveScans& scans) {
  const ScanHeader& scan = scans.scan();
  if (!build_tables(scans)) return false;
  segment_.open(scans.data());
  next_restart_ = 0;
  units_to_restart_ = restart_interval_;
  start_segment();
  if (!(scan.is_dc() ? decode_dc(scan) : decode_ac(scan)) || !ends_well()) return false;
  // Rows below those that are stored may have more segments.
  while (restart_interval_ > 0 && jpeg_marker::is_restart(segment_.marker())) segment_.next();
  return true;
}

bool ProgressiveEntropy::build_tables(const ProgressiveScans& scans) {
  const ScanHeader& scan = scans.scan();
  if (scan.is_dc() && scan.refines()) return true;
  for (std::uint32_t i = 0; i < scan.num_components; ++i) {
    const JHUFF_TBL* const codes = scan.is_dc() ? scans.dc_table(i) : scans.ac_table(i);
    if (codes == nullptr) return false;
    const std::uint32_t max_size = scan.refines() ? 1 : std::min(k_max_ac_size, k_max_bits - scan.low);
    if (!(scan.is_dc() ? tables_[i].build_dc(*codes) : tables_[i].build_ac(*codes, max_size))) return false;
  }
  return true;
}

void ProgressiveEntropy::start_segment() {
  segment_.next();
  cursor_ = {.in = {.bits = 0, .count = 0, .next = segment_.data()}, .blocks_to_skip = 0};
  limit_ = segment_.data() + segment_.size() + sizeof(std::uint64_t);
  predictions_.fill(0);
}

bool ProgressiveEntropy::ends_well() const {
  const auto read = static_cast<std::size_t>(cursor_.in.next - segment_.data()) * 8;
  return read - cursor_.in.count <= segment_.size() * 8 && segment_.marker() != SegmentReader::k_no_marker;
}

bool ProgressiveEntropy::restart() {
  if (!ends_well() || segment_.marker() != jpeg_marker::k_rst0 + next_restart_) return false;
  next_restart_ = (next_restart_ + 1) % 8;
  units_to_restart_ = restart_interval_;
  start_segment();
  return true;
}

/// The number of units, at most `wanted`, up to the next restart, which comes first if it is due. 0 if it is not there.
std::uint32_t ProgressiveEntropy::begin_units(std::uint32_t wanted) {
  if (restart_interval_ == 0) return wanted;
  if (units_to_restart_ == 0 && !restart()) return 0;
  const std::uint32_t count = std::min(wanted, units_to_restart_);
  units_to_restart_ -= count;
  return count;
}

std::int16_t* ProgressiveEntropy::block(const BlockPlane& plane, std::uint32_t column, std::uint32_t row) const {
  const std::size_t index = (row - plane.first_row) * plane.stored_across + (column - plane.first_column);
  return block_in(plane.coefficients, index, group_shift_);
}

bool ProgressiveEntropy::decode_dc(const ScanHeader& scan) {
  if (scan.num_components == 1) {
    BlockPlane& plane = planes_[scan.components[0]];
    const std::uint32_t rows = std::min(plane.end_row, plane.blocks_down);
    for (std::uint32_t row = 0; row < rows; ++row) {
      for (std::uint32_t column = 0; column < plane.blocks_across;) {
        const std::uint32_t count = begin_units(plane.blocks_across - column);
        if (count == 0 || !dc_blocks(scan, 0, {&plane, row, column, column + count})) return false;
        column += count;
      }
    }
    return true;
  }
  for (std::uint32_t mcu_row = 0; mcu_row < end_mcu_row_; ++mcu_row) {
    for (std::uint32_t mcu = 0; mcu < mcus_across_; ++mcu) {
      if (begin_units(1) == 0) return false;
      for (std::uint32_t i = 0; i < scan.num_components; ++i) {
        BlockPlane& plane = planes_[scan.components[i]];
        const std::uint32_t column = mcu * plane.mcu_across;
        for (std::uint32_t row = 0; row < plane.mcu_down; ++row) {
          const Run run{&plane, mcu_row * plane.mcu_down + row, column, column + plane.mcu_across};
          if (!dc_blocks(scan, i, run)) return false;
        }
      }
    }
  }
  return true;
}

/// `i`: which component of the scan.
bool ProgressiveEntropy::dc_blocks(const ScanHeader& scan, std::uint32_t i, const Run& run) {
  BitWindow& in = cursor_.in;
  if (in.next > limit_) return false;
  for (std::uint32_t column = run.first; column < run.end; ++column) {
    if (in.next > limit_) return false;
    in.refill();
    const bool stored = run.plane->stores(column, run.row);
    if (scan.refines()) {
      if (stored) *block(*run.plane, column, run.row) |= static_cast<std::int16_t>(in.top(1) << scan.low);
      in.use(1);
      continue;
    }
    SymbolTable::Entry entry = tables_[i].entries[in.top(k_probe_bits)];
    if (entry.length == 0) {
      const std::uint32_t symbol = tables_[i].symbol(in.bits);
      if (symbol == 0) return false;
      in.use(symbol >> 8);
      entry = {.length = static_cast<std::uint8_t>(symbol & 15),
               .run = 0,
               .value = static_cast<std::int16_t>(extended_value(in.bits, symbol & 15))};
    }
    in.use(entry.length);
    predictions_[i] += entry.value;
    const std::int32_t value = predictions_[i] * (1 << scan.low);
    if (std::abs(predictions_[i]) > k_max_dc || std::abs(value) > k_max_dc) return false;
    if (stored) *block(*run.plane, column, run.row) = static_cast<std::int16_t>(value);
  }
  return true;
}

/// The same code for two instruction sets.
struct ProgressiveEntropy::Variants {
  template <bool k_refine>
  static bool plain(ProgressiveEntropy& self, const ScanHeader& scan, const Run& run) {
    return self.ac_blocks<k_refine, false>(scan, run);
  }
  template <bool k_refine>
  BALE_WITH_BMI2 static bool with_bmi2(ProgressiveEntropy& self, const ScanHeader& scan, const Run& run) {
    return self.ac_blocks<k_refine, true>(scan, run);
  }
};

bool ProgressiveEntropy::decode_ac(const ScanHeader& scan) {
  BlockPlane& plane = planes_[scan.components[0]];
  const std::uint32_t rows = std::min(plane.end_row, plane.blocks_down);
  for (std::uint32_t row = 0; row < rows; ++row) {
    for (std::uint32_t column = 0; column < plane.blocks_across;) {
      const std::uint32_t count = begin_units(plane.blocks_across - column);
      const Run run{&plane, row, column, column + count};
      if (count == 0) return false;
      const bool good = scan.refines()
                            ? (has_bmi2_ ? Variants::with_bmi2<true>(*this, scan, run) : Variants::plain<true>(*this, scan, run))
                            : (has_bmi2_ ? Variants::with_bmi2<false>(*this, scan, run)
                                         : Variants::plain<false>(*this, scan, run));
      if (!good) return false;
      column += count;
    }
  }
  return true;
}

template <bool k_refine, bool k_bmi2>
[[gnu::always_inline]] inline bool ProgressiveEntropy::ac_blocks(const ScanHeader& scan, const Run& run) {
  const BlockPlane& plane = *run.plane;
  std::uint64_t* const masks = run.plane->masks.data() + std::size_t{run.row} * plane.blocks_across;
  const bool stores_row = plane.stores(plane.first_column, run.row);
  Cursor at = cursor_;
  for (std::uint32_t column = run.first; column < run.end; ++column) {
    if constexpr (!k_refine) {
      const std::uint32_t skipped = std::min(at.blocks_to_skip, run.end - column);
      at.blocks_to_skip -= skipped;
      column += skipped;
      if (column == run.end) break;
    }
    if (at.in.next > limit_) return false;
    const bool stored = stores_row && column >= plane.first_column && column < plane.end_column;
    std::int16_t* const to = stored ? block(plane, column, run.row) : nullptr;
    if (!ac_block<k_refine, k_bmi2>(scan, at, to, masks[column])) return false;
  }
  cursor_ = at;
  return true;
}

/// `to` is nullptr for a block that is not stored.
template <bool k_refine, bool k_bmi2>
[[gnu::always_inline]] inline bool ProgressiveEntropy::ac_block(const ScanHeader& scan, Cursor& at, std::int16_t* to,
                                                                std::uint64_t& mask) const {
  const SymbolTable& table = tables_[0];
  const std::uint64_t before = mask & bits_to(scan.last);
  const auto step = static_cast<std::int16_t>(1 << scan.low);
  std::uint64_t found = 0;
  std::uint32_t k = scan.first;
  while (k <= scan.last && (!k_refine || at.blocks_to_skip == 0)) {
    at.in.refill();
    SymbolTable::Entry entry = table.entries[at.in.top(k_probe_bits)];
    if (entry.length != 0) [[likely]] {
      at.in.use(entry.length);
    } else {
      const std::uint32_t symbol = table.symbol(at.in.bits);
      if (symbol == 0) return false;
      at.in.use(symbol >> 8);
      const std::uint32_t size = symbol & 15;
      const std::uint32_t run = symbol >> 4 & 15;
      if (size == 0 && run < 15) {
        at.blocks_to_skip = (1u << run) + static_cast<std::uint32_t>(at.in.top(run));
        at.in.use(run);
        break;
      }
      entry = {.length = 0, .run = static_cast<std::uint8_t>(run), .value = 0};
      if (size != 0) entry.value = static_cast<std::int16_t>(extended_value(at.in.bits, size));
      at.in.use(size);
    }
    if constexpr (k_refine) {
      const std::uint64_t zeros = ~before & bits_from(k) & bits_to(scan.last);
      const std::uint64_t place = select_bit<k_bmi2>(zeros, entry.run);
      if (place == 0) return false;
      correct<k_bmi2>(before & bits_from(k) & (place - 1), step, at, to);
      k = static_cast<std::uint32_t>(std::countr_zero(place));
    } else {
      k += entry.run;
      if (k > scan.last) return false;
    }
    if (to != nullptr && entry.value != 0) to[places_[k]] = static_cast<std::int16_t>(entry.value * step);
    found |= std::uint64_t{entry.value != 0} << k;
    ++k;
  }
  if (at.blocks_to_skip > 0) {
    if constexpr (k_refine) {
      if (k <= scan.last) correct<k_bmi2>(before & bits_from(k), step, at, to);
    }
    --at.blocks_to_skip;
  }
  mask |= found;
  return true;
}

/// Reads a bit for each coefficient of `which`: whether it grows by `step`.
template <bool k_bmi2>
[[gnu::always_inline]] inline void ProgressiveEntropy::correct(std::uint64_t which, std::int16_t step, Cursor& at,
                                                               std::int16_t* to) const {
  auto count = static_cast<std::uint32_t>(std::popcount(which));
  while (count > 0) {
    if (at.in.count < count) at.in.refill();
    const std::uint32_t now = std::min(count, k_refilled);
    if (to != nullptr) {
      std::uint64_t bits = at.in.bits;
      for (std::uint32_t i = 0; i < now; ++i) {
        std::int16_t& value = to[places_[std::countr_zero(which)]];
        const int sign = value >> 15;
        const int change = step & -static_cast<int>(bits >> 63);
        value = static_cast<std::int16_t>(value + ((change ^ sign) - sign));
        which &= which - 1;
        bits <<= 1;
      }
    }
    at.in.use(now);
    count -= now;
  }
}

}  // namespace bale::image_detail
