#include "bale/formats/image/jpeg/scan_symbols.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "bale/formats/image/jpeg/cpu_bits.hpp"
#include "bale/formats/image/jpeg/nonzero_masks.hpp"

namespace bale::image_detail {
namespace {

// T.81, tables F.1 and F.2: the largest sizes that 8-bit samples need, which libjpeg refuses to exceed.
constexpr std::uint32_t k_max_dc_difference = (1u << 11) - 1;
constexpr std::uint32_t k_max_ac = (1u << 10) - 1;
constexpr std::uint32_t k_sixteen_zeros = 0xF0;
// DC, 63 coefficients, and runs of sixteen zeros only if there are fewer coefficients.
constexpr std::size_t k_max_symbols_of_block = 65;
constexpr std::size_t k_keep_symbols = std::size_t{4} << 20;

struct Magnitude {
  std::uint32_t absolute = 0;
  std::uint32_t size = 0;
  std::uint32_t bits = 0;
};

/// T.81, F.1.2.1: negative values have the bits of value - 1.
[[gnu::always_inline]] inline Magnitude magnitude(std::int32_t value) {
  const std::int32_t sign = value >> 31;
  const auto absolute = static_cast<std::uint32_t>((value ^ sign) - sign);
  const auto size = static_cast<std::uint32_t>(std::bit_width(absolute));
  return {absolute, size, static_cast<std::uint32_t>(value + sign) & ((1u << size) - 1)};
}

}  // namespace

void ScanSymbols::open(bool plain) {
  if (capacity_ > k_keep_symbols && size_ < capacity_ / 4) {
    symbols_.reset();
    capacity_ = 0;
  }
  size_ = 0;
  row_ends_.assign(1, 0);
  predictions_.assign(1, {});
  counts_.fill(0);
  has_bmi2_ = !plain && cpu_has_bmi2();
}

/// Room for the symbols of this number of blocks more.
void ScanSymbols::make_room(std::size_t num_blocks) {
  const std::size_t needed = size_ + num_blocks * k_max_symbols_of_block;
  if (needed <= capacity_) return;
  const std::size_t capacity = std::max(needed, capacity_ * 2);
  std::unique_ptr<ScanSymbol[]> larger(new ScanSymbol[capacity]);
  std::copy_n(symbols_.get(), size_, larger.get());
  symbols_ = std::move(larger);
  capacity_ = capacity;
}

ScanSymbols::Row ScanSymbols::make_row(const CoefficientPlanes& planes, std::uint32_t mcu_row) {
  std::size_t total = 0;
  for (const auto& plane : planes.planes()) total += plane.row_size() / 64;
  masks_.resize(total);
  make_room(total);
  Row row;
  std::uint64_t* masks = masks_.data();
  for (std::size_t i = 0; i < planes.planes().size(); ++i) {
    const CoefficientPlanes::Plane& plane = planes.planes()[i];
    const std::int16_t* const first = plane.row(mcu_row).data();
    const std::size_t count = plane.row_size() / 64;
    nonzero_masks(first, count, masks);
    row.num_mcus = plane.across / plane.mcu_across;
    for (std::size_t down = 0; down < plane.mcu_down; ++down) {
      for (std::size_t across = 0; across < plane.mcu_across; ++across) {
        const std::size_t index = down * plane.across + across;
        const ScanTable table = i == 0 ? ScanTable::luma_dc : ScanTable::chroma_dc;
        row.blocks[row.num_blocks++] = {.coefficients = first + index * 64,
                                        .mask = masks + index,
                                        .step = plane.mcu_across,
                                        .component = i,
                                        .tables = static_cast<std::uint32_t>(table) << 8};
      }
    }
    masks += count;
  }
  return row;
}

/// The same code for two instruction sets.
struct ScanSymbols::Variants {
  static bool plain(ScanSymbols& self, const Row& row) { return self.add_mcus<false>(row); }
  BALE_WITH_BMI2 static bool with_bmi2(ScanSymbols& self, const Row& row) { return self.add_mcus<true>(row); }
};

bool ScanSymbols::add_row(const CoefficientPlanes& planes, std::uint32_t mcu_row) {
  const Row row = make_row(planes, mcu_row);
  predictions_.push_back(predictions_.back());
  const bool good = has_bmi2_ ? Variants::with_bmi2(*this, row) : Variants::plain(*this, row);
  row_ends_.push_back(size_);
  return good;
}

template <bool k_bmi2>
[[gnu::always_inline]] inline bool ScanSymbols::add_mcus(const Row& row) {
  ScanSymbol* out = symbols_.get() + size_;
  std::array<std::int32_t, 3> predictions = predictions_.back();
  std::uint32_t* const counts = counts_.data();
  std::uint32_t largest_dc = 0;
  std::uint32_t all_ac = 0;
  const auto add = [&](std::uint32_t symbol, std::uint32_t bits) {
    ++counts[symbol];
    *out++ = symbol | bits << 16;
  };
  for (std::size_t mcu = 0; mcu < row.num_mcus; ++mcu) {
    for (std::size_t i = 0; i < row.num_blocks; ++i) {
      const BlockOfMcu& place = row.blocks[i];
      const std::int16_t* const block = place.coefficients + mcu * place.step * 64;
      std::uint64_t rest = place.mask[mcu * place.step] & ~std::uint64_t{1};
      const std::int32_t dc = *block;
      const Magnitude difference = magnitude(dc - std::exchange(predictions[place.component], dc));
      largest_dc = std::max(largest_dc, difference.absolute);
      add(place.tables | (difference.size & 15), difference.bits & 0xFFFF);
      const std::uint32_t ac_table = place.tables + 256;
      std::uint32_t last = 0;
      for (; rest != 0; rest &= rest - 1) {
        const auto at = static_cast<std::uint32_t>(std::countr_zero(rest));
        std::uint32_t run = at - last - 1;
        last = at;
        for (; run > 15; run -= 16) add(ac_table | k_sixteen_zeros, 0);
        const Magnitude value = magnitude(block[at]);
        all_ac |= value.absolute;
        add(ac_table | run << 4 | (value.size & 15), value.bits & 0xFFFF);
      }
      if (last != 63) add(ac_table, 0);
    }
  }
  predictions_.back() = predictions;
  size_ = static_cast<std::size_t>(out - symbols_.get());
  return largest_dc <= k_max_dc_difference && all_ac <= k_max_ac;
}

}  // namespace bale::image_detail
