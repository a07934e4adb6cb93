#include "bale/formats/image/baseline_entropy.hpp"

#include <algorithm>
#include <cstring>

namespace bale::image_detail {
namespace {

constexpr std::uint32_t k_rst0 = 0xD0;
constexpr std::uint32_t k_eoi = 0xD9;
constexpr std::int32_t k_max_dc = 16383;
// libjpeg keeps up to 8 bytes, and more where blocks end.
constexpr std::size_t k_read_ahead_bytes = 64;
constexpr std::uint32_t k_block_end = 64;
// An entry may point 32 places on from the last coefficient, before it is seen to be wrong, and move by more.
constexpr std::size_t k_num_places = 192;

#if defined(__x86_64__)
#define BALE_WITH_BMI2 [[gnu::target("bmi,bmi2")]]
bool cpu_has_bmi2() { return __builtin_cpu_supports("bmi2") != 0; }
#else
#define BALE_WITH_BMI2
bool cpu_has_bmi2() { return false; }
#endif

// T.81, figure A.6.
constexpr std::uint8_t k_zigzag[64] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                       12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                       35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                       58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

using Places = std::array<std::uint16_t, k_num_places>;

constexpr Places make_places(std::uint32_t group_shift) {
  Places places{};
  for (std::size_t i = 0; i < k_num_places; ++i) {
    const std::uint32_t place = k_zigzag[i < 64 ? i : 63];
    places[i] = static_cast<std::uint16_t>((place / 8 * 8 << group_shift) + place % 8);
  }
  return places;
}

constexpr Places k_places[3] = {make_places(0), make_places(1), make_places(2)};

}  // namespace

bool EntropyDecoder::open(const BaselineFrame& frame, std::uint32_t group_shift, bool plain) {
  std::array<const DcTable*, 3> dc{};
  std::array<const AcTable*, 3> ac{};
  num_blocks_ = 0;
  for (std::uint32_t i = 0; i < frame.num_components; ++i) {
    const BaselineComponent& component = frame.components[i];
    for (std::uint32_t j = 0; j < i; ++j) {
      if (frame.components[j].dc_codes == component.dc_codes) dc[i] = dc[j];
      if (frame.components[j].ac_codes == component.ac_codes) ac[i] = ac[j];
    }
    if (dc[i] == nullptr) {
      if (!dc_tables_[i].build(*component.dc_codes)) return false;
      dc[i] = &dc_tables_[i];
    }
    if (ac[i] == nullptr) {
      if (!ac_tables_[i].build(*component.ac_codes)) return false;
      ac[i] = &ac_tables_[i];
    }
    for (std::uint32_t row = 0; row < component.blocks_down; ++row) {
      for (std::uint32_t column = 0; column < component.blocks_across; ++column) {
        blocks_[num_blocks_++] = {dc[i], ac[i], i, column, row, component.blocks_across};
      }
    }
  }
  group_shift_ = group_shift;
  has_bmi2_ = !plain && cpu_has_bmi2();
  mcus_across_ = frame.mcus_across;
  restart_interval_ = frame.restart_interval;
  mcus_to_restart_ = restart_interval_;
  next_restart_ = 0;
  segment_.open(frame.scan);
  start_segment();
  return true;
}

void EntropyDecoder::start_segment() {
  segment_.next();
  in_ = {.bits = 0, .count = 0, .next = segment_.data()};
  predictions_.fill(0);
}

std::size_t EntropyDecoder::used_bits() const {
  return static_cast<std::size_t>(in_.next - segment_.data()) * 8 - in_.count;
}

bool EntropyDecoder::restart() {
  // Only markers that follow the last MCU at once, and in turn.
  if ((used_bits() + 7) / 8 != segment_.size() || segment_.marker() != k_rst0 + next_restart_) return false;
  next_restart_ = (next_restart_ + 1) % 8;
  mcus_to_restart_ = restart_interval_;
  start_segment();
  return true;
}

bool EntropyDecoder::ends_well(bool at_bottom) const {
  const std::size_t used = (used_bits() + 7) / 8;
  if (used > segment_.size()) return false;
  if (at_bottom) return segment_.marker() == k_eoi;
  return segment_.marker() != SegmentReader::k_no_marker || segment_.size() - used >= k_read_ahead_bytes;
}

bool EntropyDecoder::decode_row(const std::array<CoefficientRow, 3>& rows, const McuRange& stored) {
  if (stored.begin == stored.end) return decode_mcus(rows, false, 0, mcus_across_);
  return decode_mcus(rows, false, 0, stored.begin) && decode_mcus(rows, true, 0, stored.end - stored.begin) &&
         decode_mcus(rows, false, 0, mcus_across_ - stored.end);
}

/// One body for two instruction sets: shifts by a variable are most of the work, and cheap with BMI2 only.
struct EntropyDecoder::Runs {
  using Rows = std::array<CoefficientRow, 3>;

  static bool plain(EntropyDecoder& decoder, bool store, const Rows& rows, std::uint32_t first, std::uint32_t count) {
    return store ? decoder.decode_run<true>(rows, first, count) : decoder.decode_run<false>(rows, first, count);
  }
  BALE_WITH_BMI2 static bool with_bmi2(EntropyDecoder& decoder, bool store, const Rows& rows, std::uint32_t first,
                                       std::uint32_t count) {
    return store ? decoder.decode_run<true>(rows, first, count) : decoder.decode_run<false>(rows, first, count);
  }
};

bool EntropyDecoder::decode_mcus(const std::array<CoefficientRow, 3>& rows, bool store, std::uint32_t first,
                                 std::uint32_t count) {
  while (count > 0) {
    std::uint32_t part = count;
    if (restart_interval_ > 0) {
      if (mcus_to_restart_ == 0 && !restart()) return false;
      part = std::min(part, mcus_to_restart_);
      mcus_to_restart_ -= part;
    }
    if (!(has_bmi2_ ? Runs::with_bmi2(*this, store, rows, first, part)
                    : Runs::plain(*this, store, rows, first, part))) {
      return false;
    }
    if (used_bits() > segment_.size() * 8) return false;
    first += part;
    count -= part;
  }
  return true;
}

template <bool k_store>
[[gnu::always_inline]] inline bool EntropyDecoder::decode_run(const std::array<CoefficientRow, 3>& rows,
                                                              std::uint32_t first, std::uint32_t count) {
  Bits in = in_;
  const std::uint8_t* const end = segment_.data() + segment_.size() + 8;  // as far as a full register reads ahead
  const std::uint16_t* const places = k_places[group_shift_].data();
  const std::uint32_t group_mask = (1u << group_shift_) - 1;
  for (std::uint32_t mcu = first; mcu < first + count; ++mcu) {
    if (in.next > end) return false;
    for (std::uint32_t i = 0; i < num_blocks_; ++i) {
      const Block& block = blocks_[i];
      std::int16_t* to = nullptr;
      std::uint8_t* block_end = nullptr;
      if constexpr (k_store) {
        const CoefficientRow& row = rows[block.component];
        const std::size_t index = block.row * row.blocks_across + mcu * block.across + block.column;
        to = row.coefficients + (index >> group_shift_ << (group_shift_ + 6)) + (index & group_mask) * 8;
        block_end = row.ends + index;
      }
      if (!decode_block<k_store>(in, *block.dc, *block.ac, predictions_[block.component], to, block_end, places)) {
        return false;
      }
    }
  }
  in_ = in;
  return true;
}

// Inlined, with `in` a local variable of the caller whose address goes nowhere else: then `in` stays in registers.
template <bool k_store>
[[gnu::always_inline]] inline bool EntropyDecoder::decode_block(Bits& in, const DcTable& dc, const AcTable& ac,
                                                                std::int32_t& prediction, std::int16_t* block,
                                                                std::uint8_t* end, const std::uint16_t* places) {
  // 56 bits at least; a symbol and its value take 27 at most, a probe 10.
  const auto refill = [&in] {
    std::uint64_t bytes;
    std::memcpy(&bytes, in.next, sizeof(bytes));
    in.bits |= __builtin_bswap64(bytes) >> in.count;
    in.next += (63 - in.count) >> 3;
    in.count |= 56;
  };
  const auto skip = [&in](std::uint32_t length) {
    in.bits <<= length;
    in.count -= length;
  };

  refill();
  std::int32_t difference;
  const std::uint32_t dc_entry = dc.entries[in.bits >> (64 - k_probe_bits)];
  if (dc_entry != 0) [[likely]] {
    skip(dc_entry & 63);
    difference = static_cast<std::int32_t>(dc_entry) >> 16;
  } else {
    const std::uint32_t symbol = dc.codes.symbol(in.bits);
    if (symbol == 0) return false;
    skip(symbol >> 8);
    const std::uint32_t size = symbol & 0xFF;
    difference = size == 0 ? 0 : extended_value(in.bits, size);
    skip(size);
  }
  prediction += difference;
  if (prediction > k_max_dc || prediction < -k_max_dc) return false;
  if constexpr (k_store) block[0] = static_cast<std::int16_t>(prediction);

  const std::uint16_t* at = places + 1;
  const std::uint16_t* const places_end = places + k_block_end;
  for (;;) {
    refill();
    AcTable::Entry entry;
    std::uint64_t before;
    const auto probe = [&] {
      before = in.bits;
      entry = ac.entries[in.bits >> (64 - k_probe_bits)];
      in.bits <<= entry & 63;
      in.count -= AcTable::length(entry);
      if constexpr (k_store) {
        block[at[AcTable::first_place(entry)]] = AcTable::first_value(entry);
        block[at[AcTable::second_place(entry)]] = AcTable::second_value(entry);
      }
      at += AcTable::advance(entry);
      return at >= places_end;
    };
    if (!probe() && !probe() && !probe()) continue;
    auto k = static_cast<std::uint32_t>(at - places);
    const bool ends = AcTable::advance(entry) >= k_block_end;
    if (ends && AcTable::length(entry) != 0 && k < 2 * k_block_end) [[likely]] {
      if constexpr (k_store) *end = static_cast<std::uint8_t>(k - k_block_end);
      return true;
    }
    if (!ends && k == k_block_end) break;
    // A code or value that does not fit into a probe, or an entry of two of which the first was the block's last.
    k -= AcTable::advance(entry);
    in.bits = before;
    in.count += AcTable::length(entry);
    const std::uint32_t symbol = ac.codes.symbol(in.bits);
    if (symbol == 0) return false;
    skip(symbol >> 8);
    const std::uint32_t run = symbol >> 4 & 15;
    const std::uint32_t size = symbol & 15;
    if (size == 0 && run == 0) {
      if constexpr (k_store) *end = static_cast<std::uint8_t>(k);
      return true;
    }
    k += run;
    if (k >= k_block_end) return false;
    if (size > 0) {
      const std::int32_t value = extended_value(in.bits, size);
      skip(size);
      if constexpr (k_store) block[places[k]] = static_cast<std::int16_t>(value);
    }
    if (++k == k_block_end) break;
    at = places + k;
  }
  if constexpr (k_store) *end = k_block_end;
  return true;
}

}  // namespace bale::image_detail
