#include "bale/formats/image/jpeg/decode/progressive_entropy.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "bale/formats/base/math/rounding.hpp"
#include "bale/formats/image/jpeg/header/jpeg_markers.hpp"
#include "bale/formats/image/simd/cpu_bits.hpp"

namespace bale::image_detail {
namespace {

using ScanPlaces = std::array<std::uint16_t, 64>;

constexpr ScanPlaces make_scan_places(BlockOrder order) {
  ScanPlaces places{};
  for (std::size_t bit = 0; bit < places.size(); ++bit) places[bit] = place_in(order, 63 - bit);
  return places;
}

/// By order.
constexpr std::array<ScanPlaces, 3> k_scan_places{
    make_scan_places(BlockOrder::natural), make_scan_places(BlockOrder::zigzag), make_scan_places(BlockOrder::pairs)};

constexpr std::uint32_t k_max_scan_ac_size = 10;
// The range of a coefficient, shifts included.
constexpr std::uint32_t k_max_bits = 14;
constexpr std::int32_t k_max_scan_dc = (1 << k_max_bits) - 1;
/// The bits of a mask for coefficients `first` to `last`.
constexpr std::uint64_t mask_of(std::uint32_t first, std::uint32_t last) {
  return ~std::uint64_t{0} >> first & ~std::uint64_t{0} << (63 - last);
}

}  // namespace

void ProgressiveEntropy::open(const BaselineFrame& frame, std::span<BlockPlane> planes, BlockOrder order, bool plain) {
  planes_ = planes;
  mcus_across_ = frame.mcus_across;
  end_mcu_row_ = planes[0].end_row / planes[0].mcu_down;
  places_ = k_scan_places[static_cast<std::size_t>(order)].data();
  read_every_byte_ = true;
  has_bmi2_ = !plain && use_bmi2();
  for (BlockPlane& plane : planes) {
    plane.masks.assign(std::size_t{plane.blocks_across} * std::min(plane.end_row, plane.blocks_down), 0);
  }
}

bool ProgressiveEntropy::decode(const ProgressiveScans& scans) {
  const ScanHeader& scan = scans.scan();
  if (!build_tables(scans)) return false;
  segment_.open(scans.data());
  restart_interval_ = scans.restart_interval();
  next_restart_ = 0;
  units_to_restart_ = restart_interval_;
  start_segment();
  if (!(scan.is_dc() ? decode_dc(scan) : decode_ac(scan)) || !ends_well()) return false;
  read_every_byte_ = read_every_byte_ && !jpeg_marker::is_restart(segment_.marker());
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
    const std::uint32_t max_size = scan.refines() ? 1 : std::min(k_max_scan_ac_size, k_max_bits - scan.low);
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

bool ProgressiveEntropy::ends_well() {
  const std::size_t used = static_cast<std::size_t>(cursor_.in.next - segment_.data()) * 8 - cursor_.in.count;
  read_every_byte_ = read_every_byte_ && (used + 7) / 8 == segment_.size();
  return used <= segment_.size() * 8 && segment_.marker() != SegmentReader::k_no_marker;
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

inline std::int16_t* ProgressiveEntropy::block(const BlockPlane& plane, std::uint32_t column, std::uint32_t row) const {
  const std::size_t index = (row - plane.first_row) * plane.stored_across + (column - plane.first_column);
  return plane.coefficients + index * k_block_size;
}

bool ProgressiveEntropy::decode_dc(const ScanHeader& scan) {
  if (scan.num_components > 1) return decode_dc_of_mcus(scan);
  BlockPlane& plane = planes_[scan.components[0]];
  const std::uint32_t rows = std::min(plane.end_row, plane.blocks_down);
  for (std::uint32_t row = 0; row < rows; ++row) {
    for (std::uint32_t column = 0; column < plane.blocks_across;) {
      const std::uint32_t end = column + begin_units(plane.blocks_across - column);
      if (end == column) return false;
      for (; column < end; ++column) {
        if (!dc_block(scan, 0, plane.stores(column, row) ? block(plane, column, row) : nullptr)) return false;
      }
    }
  }
  return true;
}

bool ProgressiveEntropy::decode_dc_of_mcus(const ScanHeader& scan) {
  for (std::uint32_t mcu_row = 0; mcu_row < end_mcu_row_; ++mcu_row) {
    for (std::uint32_t mcu = 0; mcu < mcus_across_;) {
      const std::uint32_t end = mcu + begin_units(mcus_across_ - mcu);
      if (end == mcu) return false;
      for (; mcu < end; ++mcu) {
        if (!dc_mcu(scan, mcu_row, mcu)) return false;
      }
    }
  }
  return true;
}

[[gnu::always_inline]] inline bool ProgressiveEntropy::dc_mcu(const ScanHeader& scan, std::uint32_t mcu_row,
                                                              std::uint32_t mcu) {
  for (std::uint32_t i = 0; i < scan.num_components; ++i) {
    const BlockPlane& plane = planes_[scan.components[i]];
    const std::uint32_t first_column = mcu * plane.mcu_across;
    const std::uint32_t first_row = mcu_row * plane.mcu_down;
    const bool stored = plane.stores(first_column, first_row);
    for (std::uint32_t row = first_row; row < first_row + plane.mcu_down; ++row) {
      for (std::uint32_t column = first_column; column < first_column + plane.mcu_across; ++column) {
        if (!dc_block(scan, i, stored ? block(plane, column, row) : nullptr)) return false;
      }
    }
  }
  return true;
}

/// `i`: which component of the scan. `to` is nullptr for a block that is not stored.
[[gnu::always_inline]] inline bool ProgressiveEntropy::dc_block(const ScanHeader& scan, std::uint32_t i,
                                                                std::int16_t* to) {
  BitWindow& in = cursor_.in;
  if (in.next > limit_) return false;
  in.refill();
  if (scan.refines()) {
    if (to != nullptr) *to |= static_cast<std::int16_t>(in.top(1) << scan.low);
    in.use(1);
    return true;
  }
  SymbolTable::Entry entry = tables_[i].entries[in.bits >> (64 - SymbolTable::k_bits)];
  if (entry.length == 0) {
    const std::uint32_t symbol = tables_[i].symbol(entry, in.bits);
    if (symbol == 0) return false;
    in.use(symbol >> 8);
    entry = {.length = static_cast<std::uint8_t>(symbol & 15),
             .run = 0,
             .value = static_cast<std::int16_t>(extended_value(in.bits, symbol & 15))};
  }
  in.use(entry.length);
  const std::int32_t sum = predictions_[i] += entry.value;
  if (std::abs(sum) > k_max_scan_dc >> scan.low) return false;
  if (to != nullptr) *to = static_cast<std::int16_t>(sum * (1 << scan.low));
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
      const bool good =
          scan.refines()
              ? (has_bmi2_ ? Variants::with_bmi2<true>(*this, scan, run) : Variants::plain<true>(*this, scan, run))
              : (has_bmi2_ ? Variants::with_bmi2<false>(*this, scan, run) : Variants::plain<false>(*this, scan, run));
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
    std::uint64_t& mask = masks[column];
    if (!(k_refine ? refine_block<k_bmi2>(scan, at, to, mask) : first_block(scan, at, to, mask))) return false;
  }
  cursor_ = at;
  return true;
}

/// Reads a symbol and its value. If it ends the block, the cursor has blocks to skip after it, this one included. False
/// if there is none.
[[gnu::always_inline]] inline bool ProgressiveEntropy::symbol(Cursor& at, SymbolTable::Entry& entry) const {
  const SymbolTable& table = tables_[0];
  at.in.refill();
  entry = table.entries[at.in.bits >> (64 - SymbolTable::k_bits)];
  if (entry.length != 0) [[likely]] {
    at.in.use(entry.length);
    return true;
  }
  const std::uint32_t symbol = table.symbol(entry, at.in.bits);
  if (symbol == 0) return false;
  at.in.use(symbol >> 8);
  const std::uint32_t size = symbol & 15;
  const std::uint32_t run = symbol >> 4 & 15;
  if (size == 0 && run < 15) {
    at.blocks_to_skip = (1u << run) + static_cast<std::uint32_t>(at.in.top(run));
    at.in.use(run);
    return true;
  }
  entry = {.length = 0, .run = static_cast<std::uint8_t>(run), .value = 0};
  if (size != 0) entry.value = static_cast<std::int16_t>(extended_value(at.in.bits, size));
  at.in.use(size);
  return true;
}

/// The first bits of some coefficients. `to` is nullptr for a block that is not stored.
[[gnu::always_inline]] inline bool ProgressiveEntropy::first_block(const ScanHeader& scan, Cursor& at, std::int16_t* to,
                                                                   std::uint64_t& mask) const {
  std::uint64_t found = 0;
  SymbolTable::Entry entry;
  for (std::uint32_t k = scan.first; k <= scan.last; ++k) {
    if (!symbol(at, entry)) return false;
    if (at.blocks_to_skip > 0) break;
    k += entry.run;
    if (k > scan.last) return false;
    if (entry.value == 0) continue;  // sixteen zeros
    if (to != nullptr) to[places_[63 - k]] = static_cast<std::int16_t>(entry.value * (1 << scan.low));
    found |= mask_of(k, k);
  }
  if (at.blocks_to_skip > 0) --at.blocks_to_skip;
  mask |= found;
  return true;
}

/// One more bit of some coefficients. Runs of zeros count those that have been zero; those that have not get a bit of
/// correction when the run passes them. All changes to the block are made at its end, because how many there are is
/// unpredictable.
template <bool k_bmi2>
[[gnu::always_inline]] inline bool ProgressiveEntropy::refine_block(const ScanHeader& scan, Cursor& at,
                                                                    std::int16_t* to, std::uint64_t& mask) const {
  const std::uint64_t before = mask;
  std::uint64_t rest = mask_of(scan.first, scan.last);
  std::uint64_t found = 0;
  std::uint64_t negative = 0;
  std::uint64_t corrected = 0;
  SymbolTable::Entry entry;
  while (rest != 0 && at.blocks_to_skip == 0) {
    if (!symbol(at, entry)) return false;
    if (at.blocks_to_skip > 0) break;
    const std::uint64_t zeros = rest & ~before;
    const auto num_zeros = static_cast<std::uint32_t>(std::popcount(zeros));
    if (entry.run >= num_zeros) return false;
    const std::uint64_t place = deposit_bits<k_bmi2>(std::uint64_t{1} << (num_zeros - 1 - entry.run), zeros);
    corrected |= corrections<k_bmi2>(rest & before & ~(place | (place - 1)), at.in);
    found |= entry.value != 0 ? place : 0;
    negative |= entry.value < 0 ? place : 0;
    rest &= place - 1;
  }
  if (at.blocks_to_skip > 0) {
    corrected |= corrections<k_bmi2>(rest & before, at.in);
    --at.blocks_to_skip;
  }
  mask = before | found;
  if (to == nullptr) return true;
  for (std::uint64_t changed = corrected | found; changed != 0; changed &= changed - 1) {
    const int bit = std::countr_zero(changed);
    std::int16_t& value = to[places_[bit]];
    const int sign = value >> 15 | -static_cast<int>(negative >> bit & 1);
    value = static_cast<std::int16_t>(value + (((1 << scan.low) ^ sign) - sign));
  }
  return true;
}

/// Reads a bit for each coefficient of `which`, from the top, and returns those whose bit is set.
template <bool k_bmi2>
[[gnu::always_inline]] inline std::uint64_t ProgressiveEntropy::corrections(std::uint64_t which, BitWindow& in) {
  const auto count = static_cast<std::uint32_t>(std::popcount(which));
  if (count <= in.count) [[likely]] {
    const std::uint64_t bits = in.top(count);
    in.use(count);
    return deposit_bits<k_bmi2>(bits, which);
  }
  std::uint64_t set = 0;
  for (std::uint64_t bit = 0; which != 0; which ^= bit) {
    bit = std::bit_floor(which);
    if (in.count == 0) in.refill();
    if (in.top(1) != 0) set |= bit;
    in.use(1);
  }
  return set;
}

}  // namespace bale::image_detail
