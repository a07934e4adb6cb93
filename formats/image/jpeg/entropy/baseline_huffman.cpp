#include "bale/formats/image/jpeg/entropy/baseline_huffman.hpp"

#include <algorithm>
#include <functional>

namespace bale::image_detail {
namespace {

// The largest sizes that 8-bit samples need: T.81, tables F.1 and F.2.
constexpr std::uint32_t k_max_dc_size = 11;
constexpr std::uint32_t k_max_ac_size = 10;
constexpr std::uint32_t k_end_of_block = 0x00;
constexpr std::uint32_t k_sixteen_zeros = 0xF0;

using namespace probe_entry;

constexpr ProbeMove make_move(std::uint32_t length, std::uint32_t advance) {
  return static_cast<ProbeMove>(length | advance << 8);
}

constexpr ProbeMove k_no_move = make_move(0, k_nothing);

ProbeValues make_values(std::uint32_t run, std::int32_t value) {
  const ProbeValues bits = static_cast<std::uint16_t>(value);
  return run | run << 8 | bits << 16 | bits << 32;
}

/// The coefficient of `first`, then that of `second`, `places` further on.
ProbeValues join(ProbeValues first, std::uint32_t places, ProbeValues second) {
  constexpr ProbeValues k_of_first = 0x0000'FFFF'00FF;
  return (first & k_of_first) | ((second + (ProbeValues{places} << 8)) & ~k_of_first);
}

bool is_dc_symbol(std::uint32_t symbol) { return symbol <= k_max_dc_size; }

bool is_ac_symbol(std::uint32_t symbol) {
  const std::uint32_t size = symbol & 15;
  return size == 0 ? symbol == k_end_of_block || symbol == k_sixteen_zeros : size <= k_max_ac_size;
}

template <typename Allowed>
bool holds_only(const JHUFF_TBL& table, const Allowed& allowed) {
  std::uint32_t count = 0;
  for (std::uint32_t length = 1; length <= 16; ++length) count += table.bits[length];
  return std::all_of(table.huffval, table.huffval + count, [&](UINT8 symbol) { return allowed(symbol); });
}

/// Some probes that begin with the same code and, if it fits, the same value.
struct ProbeRange {
  std::size_t first = 0;
  std::size_t count = 0;
  std::uint32_t symbol = 0;
  std::uint32_t code_length = 0;
  std::uint32_t total = 0;  // bits of code and value; more than a probe has if the value does not fit
  std::int32_t value = 0;
};

/// Calls `visit`(ProbeRange) for all codes that fit into a probe of `k_bits` bits.
template <int k_bits, typename Visit>
void for_each_range(const JHUFF_TBL& table, const Visit& visit) {
  std::uint32_t code = 0;
  std::uint32_t index = 0;
  for (std::uint32_t code_length = 1; code_length <= k_bits; ++code_length, code <<= 1) {
    for (std::uint32_t i = 0; i < table.bits[code_length]; ++i, ++code, ++index) {
      const std::uint32_t symbol = table.huffval[index];
      const std::uint32_t size = symbol & 15;
      const std::uint32_t total = code_length + size;
      const std::size_t at = std::size_t{code} << (k_bits - code_length);
      if (total > k_bits) {
        visit(ProbeRange{at, std::size_t{1} << (k_bits - code_length), symbol, code_length, total, 0});
        continue;
      }
      const std::size_t count = std::size_t{1} << (k_bits - total);
      for (std::uint32_t extra = 0; extra < 1u << size; ++extra) {
        const std::int32_t value = extended_value(size == 0 ? 0 : std::uint64_t{extra} << (64 - size), size);
        visit(ProbeRange{at + extra * count, count, symbol, code_length, total, value});
      }
    }
  }
}

struct Entry {
  ProbeMove move;
  ProbeValues values;
};

/// Puts `entry_of`(symbol, bits of its code and value, value) at all probes that begin with code and value.
template <typename EntryOf>
void spread(const JHUFF_TBL& table, ProbeEntries& to, const EntryOf& entry_of) {
  to.moves.fill(k_no_move);
  to.values.fill(0);
  for_each_range<k_probe_bits>(table, [&](const ProbeRange& range) {
    if (range.total > k_entry_bits || (range.total > k_probe_bits && range.code_length == k_probe_bits)) {
      return;  // it holds nothing
    }
    if (range.total > k_probe_bits) {
      for (std::size_t probe = range.first; probe < range.first + range.count; ++probe) {
        const std::uint64_t bits = std::uint64_t{probe} << (64 - k_probe_bits + range.code_length);
        const Entry entry = entry_of(range.symbol, range.total, extended_value(bits, range.symbol & 15));
        to.moves[probe] = entry.move;
        to.values[probe] = entry.values | ProbeValues{range.total - k_probe_bits} << 48;
      }
      return;
    }
    const Entry entry = entry_of(range.symbol, range.total, range.value);
    std::fill_n(to.moves.begin() + range.first, range.count, entry.move);
    std::fill_n(to.values.begin() + range.first, range.count, entry.values);
  });
}

/// `is_end`(symbol): whether the symbol ends a block, and its value, if any, is not a coefficient.
template <typename IsEnd>
void spread(const JHUFF_TBL& table, SymbolTable& to, const IsEnd& is_end) {
  to.entries.fill({});
  for_each_range<SymbolTable::k_bits>(table, [&](const ProbeRange& range) {
    SymbolTable::Entry entry{
        .length = 0, .run = 0, .value = static_cast<std::int16_t>(range.code_length << 8 | range.symbol)};
    if (range.total <= SymbolTable::k_bits && !is_end(range.symbol)) {
      entry = {.length = static_cast<std::uint8_t>(range.total),
               .run = static_cast<std::uint8_t>(range.symbol >> 4),
               .value = static_cast<std::int16_t>(range.value)};
    }
    std::fill_n(to.entries.begin() + range.first, range.count, entry);
  });
}

}  // namespace

bool HuffmanCodes::build(const JHUFF_TBL& table) {
  std::uint32_t code = 0;
  std::uint32_t count = 0;
  std::copy_n(table.huffval, symbols_.size(), symbols_.begin());
  for (std::uint32_t length = 1; length <= 16; ++length) {
    first_symbol_[length - 1] = count - code;
    const std::uint32_t codes = table.bits[length];
    // A code of all ones is not allowed.
    if (count + codes > 256 || (codes > 0 && code + codes >= 1u << length)) return false;
    code += codes;
    count += codes;
    ends_[length - 1] = static_cast<std::uint16_t>(code << (16 - length));
    code <<= 1;
  }
  return count > 0;
}

bool ProbeTable::build_dc(const JHUFF_TBL& table) {
  if (!codes.build(table) || !holds_only(table, is_dc_symbol)) return false;
  spread(table, *this, [](std::uint32_t, std::uint32_t total, std::int32_t value) {
    return Entry{make_move(total, 1), make_values(0, value)};
  });
  return true;
}

bool ProbeTable::build_ac(const JHUFF_TBL& table) {
  if (!codes.build(table) || !holds_only(table, is_ac_symbol)) return false;
  ProbeEntries singles;
  spread(table, singles, [](std::uint32_t symbol, std::uint32_t total, std::int32_t value) {
    const std::uint32_t run = symbol >> 4;
    return symbol == k_end_of_block ? Entry{make_move(total, k_end), make_values(0, 0)}
                                    : Entry{make_move(total, run + 1), make_values(run, value)};
  });
  for (std::size_t probe = 0; probe < k_probes; ++probe) {
    const ProbeMove first = singles.moves[probe];
    moves[probe] = first;
    values[probe] = singles.values[probe];
    if (advance(first) >= k_end || length(first) >= k_probe_bits) continue;
    const std::size_t next = probe << length(first) & (k_probes - 1);
    const ProbeMove second = singles.moves[next];
    if (length(second) == 0 || length(first) + length(second) > k_probe_bits) continue;
    moves[probe] = static_cast<ProbeMove>(first + second);
    if (advance(second) < k_end) values[probe] = join(values[probe], advance(first), singles.values[next]);
  }
  return true;
}

void ProbeTable::clear_uses() {
  uses.fill(0);
  uses_without_entry.fill(0);
}

void ProbeTable::add_uses(SymbolCounts& counts) const {
  std::transform(counts.begin(), counts.end(), uses_without_entry.begin(), counts.begin(), std::plus<>());
  for (std::size_t probe = 0; probe < k_probes; ++probe) {
    if (uses[probe] == 0) continue;
    const std::uint64_t bits = std::uint64_t{probe} << (64 - k_probe_bits);
    const std::uint32_t first = codes.symbol(bits);
    const std::uint32_t first_length = (first >> 8) + (first & 15);
    counts[first & 0xFF] += uses[probe];
    if (length(moves[probe]) > first_length) counts[codes.symbol(bits << first_length) & 0xFF] += uses[probe];
  }
}

bool SymbolTable::build_dc(const JHUFF_TBL& table) {
  if (!codes.build(table) || !holds_only(table, is_dc_symbol)) return false;
  spread(table, *this, [](std::uint32_t) { return false; });
  return true;
}

bool SymbolTable::build_ac(const JHUFF_TBL& table, std::uint32_t max_size) {
  const auto allowed = [max_size](std::uint32_t symbol) { return (symbol & 15) <= max_size; };
  if (!codes.build(table) || !holds_only(table, allowed)) return false;
  spread(table, *this, [](std::uint32_t symbol) { return (symbol & 15) == 0 && symbol != k_sixteen_zeros; });
  return true;
}

}  // namespace bale::image_detail
