#include "bale/formats/image/baseline_huffman.hpp"

#include <algorithm>

namespace bale::image_detail {
namespace {

// The largest that 8-bit samples need: T.81, tables F.1 and F.2.
constexpr std::uint32_t k_max_dc_size = 11;
constexpr std::uint32_t k_max_ac_size = 10;
constexpr std::uint32_t k_end_of_block = 0x00;
constexpr std::uint32_t k_sixteen_zeros = 0xF0;

using namespace probe_entry;

ProbeEntry make_entry(std::uint32_t entry_length, std::uint32_t moved, std::uint32_t run, std::int32_t value) {
  const ProbeEntry bits = static_cast<std::uint16_t>(value);
  return entry_length | moved << 8 | run << 16 | run << 24 | bits << 32 | bits << 48;
}

/// Two coefficients, or one and the end of the block.
ProbeEntry join(ProbeEntry first, ProbeEntry second) {
  const std::uint32_t moved = advance(first);
  const ProbeEntry sums = (first & 0xFFFF) + (second & 0xFFFF);
  const ProbeEntry other = advance(second) >= k_end ? first : second + (ProbeEntry{moved} << 24);
  return sums | (first & 0x0000FFFF00FF0000) | (other & 0xFFFF0000FF000000);
}

bool is_dc_symbol(std::uint32_t symbol) { return symbol <= k_max_dc_size; }

bool is_ac_symbol(std::uint32_t symbol) {
  const std::uint32_t size = symbol & 15;
  return size == 0 ? symbol == k_end_of_block || symbol == k_sixteen_zeros : size <= k_max_ac_size;
}

bool holds_only(const JHUFF_TBL& table, bool (*allowed)(std::uint32_t)) {
  std::uint32_t count = 0;
  for (std::uint32_t length = 1; length <= 16; ++length) count += table.bits[length];
  return std::all_of(table.huffval, table.huffval + count, [&](UINT8 symbol) { return allowed(symbol); });
}

}  // namespace

bool HuffmanCodes::build(const JHUFF_TBL& table) {
  std::uint32_t code = 0;
  std::uint32_t count = 0;
  std::copy_n(table.huffval, symbols_.size(), symbols_.begin());
  for (std::uint32_t length = 1; length <= 16; ++length) {
    first_symbol_[length] = count - code;
    const std::uint32_t codes = table.bits[length];
    // A code of ones only is not allowed.
    if (count + codes > 256 || (codes > 0 && code + codes >= 1u << length)) return false;
    code += codes;
    count += codes;
    end_[length] = code << (16 - length);
    code <<= 1;
  }
  return count > 0;
}

std::uint32_t HuffmanCodes::symbol(std::uint64_t bits) const {
  const auto bits16 = static_cast<std::uint32_t>(bits >> 48);
  for (std::uint32_t length = 1; length <= 16; ++length) {
    if (bits16 < end_[length]) {
      return length << 8 | symbols_[(first_symbol_[length] + (bits16 >> (16 - length))) & 0xFF];
    }
  }
  return 0;
}

/// Puts `entry_of`(symbol, bits of its code, extra bits of the value) wherever code and value come first.
template <typename EntryOf>
void ProbeTable::spread(const JHUFF_TBL& table, Singles& to, const EntryOf& entry_of) {
  to.fill(make_entry(0, k_nothing, 0, 0));
  std::uint32_t code = 0;
  std::uint32_t index = 0;
  for (std::uint32_t code_length = 1; code_length <= k_probe_bits; ++code_length, code <<= 1) {
    for (std::uint32_t i = 0; i < table.bits[code_length]; ++i, ++code, ++index) {
      const std::uint32_t symbol = table.huffval[index];
      const std::uint32_t size = symbol & 15;
      const std::uint32_t total = code_length + size;
      auto at = to.begin() + (std::size_t{code} << (k_probe_bits - code_length));
      if (total > k_probe_bits) {
        const ProbeEntry nothing = make_entry(0, k_nothing, 0, 0);
        std::fill_n(at, 1u << (k_probe_bits - code_length), nothing | ProbeEntry{code_length << 8 | symbol} << 16);
        continue;
      }
      const std::uint32_t count = 1u << (k_probe_bits - total);
      for (std::uint32_t extra = 0; extra < 1u << size; ++extra, at += count) {
        const std::int32_t value = size == 0 ? 0 : extended_value(std::uint64_t{extra} << (64 - size), size);
        std::fill_n(at, count, entry_of(symbol, total, value));
      }
    }
  }
}

bool ProbeTable::build_dc(const JHUFF_TBL& table) {
  if (!codes.build(table) || !holds_only(table, is_dc_symbol)) return false;
  spread(table, entries,
         [](std::uint32_t, std::uint32_t total, std::int32_t value) { return make_entry(total, 1, 0, value); });
  return true;
}

bool ProbeTable::build_ac(const JHUFF_TBL& table) {
  if (!codes.build(table) || !holds_only(table, is_ac_symbol)) return false;
  Singles singles;
  spread(table, singles, [](std::uint32_t symbol, std::uint32_t total, std::int32_t value) {
    const std::uint32_t run = symbol >> 4;
    return symbol == k_end_of_block ? make_entry(total, k_end, 0, 0) : make_entry(total, run + 1, run, value);
  });
  for (std::size_t probe = 0; probe < k_probes; ++probe) {
    const ProbeEntry first = singles[probe];
    entries[probe] = first;
    if (advance(first) >= k_end) continue;
    const ProbeEntry second = singles[probe << length(first) & (k_probes - 1)];
    if (length(second) == 0 || length(first) + length(second) > k_probe_bits) continue;
    entries[probe] = join(first, second);
  }
  return true;
}

}  // namespace bale::image_detail
