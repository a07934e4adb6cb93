#include "bale/formats/image/baseline_huffman.hpp"

#include <algorithm>

namespace bale::image_detail {
namespace {

// The largest that 8-bit samples need: T.81, tables F.1 and F.2.
constexpr std::uint32_t k_max_dc_size = 11;
constexpr std::uint32_t k_max_ac_size = 10;
constexpr std::uint32_t k_end_of_block = 0x00;
constexpr std::uint32_t k_sixteen_zeros = 0xF0;
constexpr std::uint32_t k_end = 64;

AcTable::Entry make_entry(std::uint32_t length, std::uint32_t advance, std::uint32_t run, std::uint32_t value) {
  const AcTable::Entry bits = value & 0xFFFF;
  return length | advance << 8 | run << 16 | run << 24 | bits << 32 | bits << 48;
}

bool ends_block(AcTable::Entry entry) { return AcTable::advance(entry) >= k_end; }

/// Two coefficients, or one and the end of the block.
AcTable::Entry join(AcTable::Entry first, AcTable::Entry second) {
  const std::uint32_t moved = AcTable::advance(first);
  const AcTable::Entry sums = (first & 0xFFFF) + (second & 0xFFFF);
  const AcTable::Entry other = ends_block(second) ? first : second + (AcTable::Entry{moved} << 24);
  return sums | (first & 0x0000FFFF00FF0000) | (other & 0xFFFF0000FF000000);
}

}  // namespace

bool HuffmanCodes::build(const JHUFF_TBL& table) {
  short_.fill(0);
  std::uint32_t code = 0;
  std::uint32_t count = 0;
  std::copy_n(table.huffval, symbols_.size(), symbols_.begin());
  for (std::uint32_t length = 1; length <= 16; ++length) {
    first_symbol_[length] = count - code;
    const std::uint32_t codes = table.bits[length];
    // A code of ones only is not allowed.
    if (count + codes > 256 || (codes > 0 && code + codes >= 1u << length)) return false;
    if (length <= k_probe_bits) {
      const std::uint32_t spread = 1u << (k_probe_bits - length);
      for (std::uint32_t i = 0; i < codes; ++i) {
        std::fill_n(short_.begin() + (code + i) * spread, spread,
                    static_cast<std::uint16_t>(length << 8 | symbols_[count + i]));
      }
    }
    code += codes;
    count += codes;
    end_[length] = code << (16 - length);
    code <<= 1;
  }
  return count > 0;
}

std::uint32_t HuffmanCodes::long_symbol(std::uint32_t bits16) const {
  for (std::uint32_t length = k_probe_bits + 1; length <= 16; ++length) {
    if (bits16 < end_[length]) {
      return length << 8 | symbols_[(first_symbol_[length] + (bits16 >> (16 - length))) & 0xFF];
    }
  }
  return 0;
}

bool DcTable::build(const JHUFF_TBL& table) {
  if (!codes.build(table)) return false;
  std::uint32_t count = 0;
  for (std::uint32_t length = 1; length <= 16; ++length) count += table.bits[length];
  if (std::any_of(table.huffval, table.huffval + count, [](UINT8 size) { return size > k_max_dc_size; })) return false;
  for (std::size_t probe = 0; probe < k_probes; ++probe) {
    const std::uint32_t symbol = codes.short_symbol(probe);
    const std::uint32_t size = symbol & 0xFF;
    const std::uint32_t length = symbol >> 8;
    entries[probe] = 0;
    if (symbol == 0 || length + size > k_probe_bits) continue;
    const std::uint64_t rest = std::uint64_t{probe} << (64 - k_probe_bits) << length;
    const std::int32_t value = size == 0 ? 0 : extended_value(rest, size);
    entries[probe] = (length + size) | static_cast<std::uint32_t>(value) << 16;
  }
  return true;
}

bool AcTable::build(const JHUFF_TBL& table) {
  if (!codes.build(table)) return false;
  std::array<Entry, k_probes> ones;
  const Entry too_long = make_entry(0, k_end, 0, 0);
  ones.fill(too_long);
  std::uint32_t code = 0;
  std::uint32_t index = 0;
  for (std::uint32_t length = 1; length <= 16; ++length, code <<= 1) {
    for (std::uint32_t i = 0; i < table.bits[length]; ++i, ++code, ++index) {
      const std::uint32_t symbol = table.huffval[index];
      const std::uint32_t run = symbol >> 4;
      const std::uint32_t size = symbol & 15;
      if (size > k_max_ac_size || (size == 0 && symbol != k_end_of_block && symbol != k_sixteen_zeros)) return false;
      const std::uint32_t total = length + size;
      if (total > k_probe_bits) continue;
      const std::uint32_t spread = 1u << (k_probe_bits - total);
      auto to = ones.begin() + (std::size_t{code} << (k_probe_bits - length));
      for (std::uint32_t extra = 0; extra < 1u << size; ++extra, to += spread) {
        Entry entry = make_entry(total, run + 1, run, 0);
        if (symbol == k_end_of_block) {
          entry = make_entry(total, k_end, 0, 0);
        } else if (size > 0) {
          const bool positive = extra >> (size - 1) != 0;
          const std::uint32_t value = positive ? extra : extra - ((1u << size) - 1);
          entry = make_entry(total, run + 1, run, value);
        }
        std::fill_n(to, spread, entry);
      }
    }
  }
  for (std::size_t probe = 0; probe < k_probes; ++probe) {
    const Entry first = ones[probe];
    entries[probe] = first;
    if (ends_block(first)) continue;
    const Entry second = ones[probe << length(first) & (k_probes - 1)];
    if (length(second) == 0 || length(first) + length(second) > k_probe_bits) continue;
    entries[probe] = join(first, second);
  }
  return true;
}

}  // namespace bale::image_detail
