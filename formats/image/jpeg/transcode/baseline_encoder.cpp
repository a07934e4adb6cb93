#include "bale/formats/image/jpeg/transcode/baseline_encoder.hpp"

#include <cstring>

#include "bale/formats/image/jpeg/header/jpeg_markers.hpp"
#include "bale/formats/image/simd/cpu_bits.hpp"

namespace bale::image_detail {
namespace {

constexpr std::uint32_t k_length_bits = 5;
constexpr std::uint32_t k_length_mask = (1u << k_length_bits) - 1;

}  // namespace

void append_stuffed(std::span<const std::uint8_t> bytes, std::vector<std::byte>& out) {
  const std::uint8_t* from = bytes.data();
  const std::uint8_t* const end = from + bytes.size();
  while (from < end) {
    const auto* const found =
        static_cast<const std::uint8_t*>(std::memchr(from, 0xFF, static_cast<std::size_t>(end - from)));
    const std::uint8_t* const stop = found == nullptr ? end : found + 1;
    const auto* const first = reinterpret_cast<const std::byte*>(from);
    out.insert(out.end(), first, first + (stop - from));
    if (found != nullptr) out.push_back(std::byte{0});
    from = stop;
  }
}

bool BaselineEncoder::open(const ScanSymbols& symbols, std::size_t num_tables, bool plain) {
  symbols_ = &symbols;
  has_bmi2_ = !plain && use_bmi2();
  num_bits_ = 0;
  for (std::size_t table = 0; table < num_tables; ++table) {
    const auto counts = symbols.counts(static_cast<ScanTable>(table));
    if (!codes_[table].build(counts) || !set_words(table, counts)) return false;
  }
  return true;
}

bool BaselineEncoder::open(const ScanSymbols& symbols, std::span<const JHUFF_TBL* const> tables) {
  symbols_ = &symbols;
  has_bmi2_ = use_bmi2();
  num_bits_ = 0;
  for (std::size_t table = 0; table < tables.size(); ++table) {
    if (!codes_[table].take(tables[table]->bits, tables[table]->huffval)) return false;
    if (!set_words(table, symbols.counts(static_cast<ScanTable>(table)))) return false;
  }
  return true;
}

/// False if a symbol that was counted has no code.
bool BaselineEncoder::set_words(std::size_t table, const SymbolCounts& counts) {
  const OptimalCodes& codes = codes_[table];
  for (std::size_t symbol = 0; symbol < k_symbols; ++symbol) {
    if (counts[symbol] != 0 && codes.lengths[symbol] == 0) return false;
    const std::uint32_t size = symbol & 15;
    const std::uint32_t length = codes.lengths[symbol] + size;
    words_[table * k_symbols + symbol] = std::uint32_t{codes.codes[symbol]} << size << k_length_bits | length;
    num_bits_ += std::uint64_t{counts[symbol]} * length;
  }
  return true;
}

/// The same code for two instruction sets.
struct BaselineEncoder::Variants {
  static void plain(const BaselineEncoder& self, std::span<const ScanSymbol> symbols, BitWriter& to) {
    self.put<false>(symbols, to);
  }
  BALE_WITH_BMI2 static void with_bmi2(const BaselineEncoder& self, std::span<const ScanSymbol> symbols,
                                       BitWriter& to) {
    self.put<true>(symbols, to);
  }
};

/// Two symbols have at most 54 bits, so they are put together with what is left from before.
template <bool k_bmi2>
[[gnu::always_inline]] inline void BaselineEncoder::put(std::span<const ScanSymbol> symbols, BitWriter& to) const {
  BitWriter out = to;
  const std::uint32_t* const words = words_.data();
  const auto word_bits = [](std::uint32_t word, ScanSymbol symbol) {
    return std::uint64_t{word >> k_length_bits | symbol >> 16};
  };
  const std::size_t even = symbols.size() & ~std::size_t{1};
  for (std::size_t i = 0; i < even; i += 2) {
    const std::uint32_t first = words[symbols[i] & k_symbol_mask];
    const std::uint32_t second = words[symbols[i + 1] & k_symbol_mask];
    const std::uint32_t second_length = second & k_length_mask;
    out.put(word_bits(first, symbols[i]) << second_length | word_bits(second, symbols[i + 1]),
            (first & k_length_mask) + second_length);
  }
  if (even != symbols.size()) {
    const std::uint32_t last = words[symbols[even] & k_symbol_mask];
    out.put(word_bits(last, symbols[even]), last & k_length_mask);
  }
  to = out;
}

void BaselineEncoder::put_symbols(std::span<const ScanSymbol> symbols, BitWriter& to) const {
  has_bmi2_ ? Variants::with_bmi2(*this, symbols, to) : Variants::plain(*this, symbols, to);
}

void BaselineEncoder::write_raw(std::uint32_t mcu_rows) {
  raw_ = memory_.get(raw_size() + k_bit_padding);
  BitWriter writer{.to = raw_};
  row_starts_.clear();
  for (std::uint32_t row = 0; row < mcu_rows; ++row) {
    row_starts_.push_back(static_cast<std::uint64_t>(writer.to - raw_) * 8 + writer.count);
    put_symbols(symbols_->row(row), writer);
  }
  writer.fill_byte(false);
}

void BaselineEncoder::write(std::uint32_t mcu_rows, std::vector<std::byte>& out, std::vector<SeekPoint>& points) {
  write_raw(mcu_rows);
  points.clear();
  const std::size_t first = out.size();
  std::size_t done = 0;
  const auto stuff_to = [&](std::size_t end) {
    append_stuffed({raw_ + done, end - done}, out);
    done = end;
  };
  for (std::uint32_t row = 0; row < mcu_rows; ++row) {
    stuff_to(row_starts_[row] / 8);
    points.push_back({.position = std::uint64_t{out.size() - first} * 8 + row_starts_[row] % 8,
                      .predictions = symbols_->predictions(row)});
  }
  stuff_to(raw_size());
  points.push_back({.position = std::uint64_t{out.size() - first} * 8});
}

void BaselineEncoder::write(std::vector<std::byte>& out, bool zeros) {
  raw_ = memory_.get(raw_size() + k_bit_padding);
  const std::span<const ScanSymbol> all = symbols_->all();
  std::size_t begin = 0;
  const auto write_to = [&](std::size_t end) {
    BitWriter writer{.to = raw_};
    put_symbols(all.subspan(begin, end - begin), writer);
    writer.fill_byte(zeros);
    append_stuffed({raw_, writer.to}, out);
    begin = end;
  };
  std::size_t number = 0;
  for (const std::size_t restart : symbols_->restarts()) {
    write_to(restart);
    out.insert(out.end(), {std::byte{0xFF}, static_cast<std::byte>(jpeg_marker::k_rst0 + number++ % 8)});
  }
  write_to(all.size());
}

}  // namespace bale::image_detail
