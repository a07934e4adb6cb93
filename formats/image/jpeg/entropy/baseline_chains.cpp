// The loops of EntropyDecoder over codes. Rows, restarts and seek points are in baseline_entropy.cpp.
#include "bale/formats/image/jpeg/entropy/baseline_entropy.hpp"
#include "bale/formats/image/simd/cpu_bits.hpp"

namespace bale::image_detail {
namespace {

// The number of steps that the 56 bits after a refill allow.
constexpr int k_steps_to_refill = 56 / k_entry_bits;

}  // namespace

/// Moves to the next block if `step` ends the current one.
inline void EntropyDecoder::go_on_where_block_ends(ProbeMove step, Chain& chain, ProbeTable* table, std::uint64_t moved,
                                                   const BlockTarget* block) {
#if defined(__x86_64__)
  // In assembly, because compilers emit a branch here.
  asm("test %[flag], %k[step]\n\tcmovne %[to_table], %[table]\n\tcmovne %[to_moved], %[moved]\n\tcmovne %[to_block], "
      "%[block]"
      : [table] "+r"(chain.table), [moved] "+r"(chain.moved), [block] "+r"(chain.block)
      : [flag] "i"(probe_entry::k_end << 8), [step] "r"(std::uint32_t{step}), [to_table] "rm"(table),
        [to_moved] "r"(moved), [to_block] "r"(block)
      : "cc");
#else
  const bool ends = (step & probe_entry::k_end << 8) != 0;
  chain.table = ends ? table : chain.table;
  chain.moved = ends ? moved : chain.moved;
  chain.block = ends ? block : chain.block;
#endif
}

// Has no unpredictable branches: arithmetic decides whether a block ends. False, with nothing done, if the entry alone
// is not sufficient.
template <EntropyDecoder::How k_how>
[[gnu::always_inline]] inline bool EntropyDecoder::step(Chain& chain) {
  const BlockTarget* const block = chain.block;
  const std::size_t probe = chain.probe();
  const ProbeMove move = chain.table->moves[probe];
  const std::uint64_t moved = chain.moved + move;
  if ((moved & probe_entry::k_look_again << 8) != 0) [[unlikely]]
    return false;
  if constexpr (k_how.use == Use::store_and_count) ++chain.table->uses[probe];
  store<k_how>(chain, move, chain.table->values[probe]);
  chain.in.bits <<= move & 63;
  chain.table = block->ac;
  chain.moved = moved;
  go_on_where_block_ends(move, chain, block[1].dc, moved & 0xFF, block + 1);
  return true;
}

/// For a block that is not stored, only DC matters: the second value of an entry, if it has one.
template <EntropyDecoder::How k_how>
[[gnu::always_inline]] inline void EntropyDecoder::store(const Chain& chain, ProbeMove move, ProbeValues values) {
  std::size_t first = probe_entry::first_place(values);
  std::size_t second = probe_entry::second_place(values);
  std::int16_t* to = chain.block->to;
  if constexpr (k_how.order == BlockOrder::zigzag) {
    to += chain.place();  // an entry that leaves the block is not sufficient, and not stored
  } else {
    const std::uint16_t* const places = chain.block->places + chain.place();
    first = places[first];
    second = places[second];
  }
  if constexpr (k_how.use != Use::skip) to[first] = probe_entry::first_value(values);
  const std::uint64_t used = chain.in.bits >> (-move & 63);
  const std::uint64_t rest = used & ((std::uint64_t{1} << probe_entry::rest_bits(values)) - 1);
  to[second] = static_cast<std::int16_t>(probe_entry::second_value(values) + static_cast<std::int32_t>(rest));
}

/// Takes `k_count` steps of each chain in turn. Returns the chain for which the entry alone is not sufficient.
template <bool k_two, EntropyDecoder::How k_how, int k_count>
[[gnu::always_inline]] inline EntropyDecoder::Stuck EntropyDecoder::steps(Chain& a, Chain& b) {
  if constexpr (k_count == 0) {
    return Stuck::none;
  } else {
    if (!step<k_how>(a)) return Stuck::a;
    if constexpr (k_two) {
      if (!step<k_how>(b)) return Stuck::b;
    }
    return steps<k_two, k_how, k_count - 1>(a, b);
  }
}

/// Decodes one symbol of any length. False if there is none. To be called after a refill.
template <EntropyDecoder::How k_how>
[[gnu::always_inline]] inline bool EntropyDecoder::step_symbol(Chain& chain) {
  const std::size_t probe = chain.probe();
  const ProbeMove move = chain.table->moves[probe];
  std::uint64_t place = chain.place();
  const auto count = [&](std::uint32_t found) {
    if constexpr (k_how.use == Use::store_and_count) ++chain.table->uses_without_entry[found & 0xFF];
  };
  if (probe_entry::length(move) != 0 && place + probe_entry::advance(move) == k_block_end) {
    // After its last coefficient, a block ends without an end-of-block code.
    if constexpr (k_how.use == Use::store_and_count) ++chain.table->uses[probe];
    store<k_how>(chain, move, chain.table->values[probe]);
    chain.in.use(probe_entry::length(move));
    chain.go_to_next_block();
    return true;
  }
  const std::uint32_t symbol = chain.table->codes.symbol(chain.in.bits);
  if (symbol == 0) return false;
  count(symbol);
  if (place != 0 && (symbol & 0xFF) == 0) [[unlikely]] {
    chain.in.use(symbol >> 8);
    chain.go_to_next_block();
    return true;
  }
  // A DC symbol has a run of zero.
  place += symbol >> 4 & 15;
  if (place >= k_block_end) return false;
  chain.in.use(symbol >> 8);
  const std::uint32_t size = symbol & 15;
  const std::size_t at = k_how.order == BlockOrder::zigzag ? place : chain.block->places[place];
  chain.block->to[at] = static_cast<std::int16_t>(extended_value(chain.in.bits, size));
  chain.in.use(size);
  if (place + 1 == k_block_end) {
    chain.go_to_next_block();
  } else {
    chain.table = chain.block->ac;
    chain.moved = (place + 1) << 8;
  }
  return true;
}

template <std::size_t k_chains, EntropyDecoder::How k_how>
[[gnu::always_inline]] inline bool EntropyDecoder::run_chains(Chain* chains) {
  constexpr bool k_two = k_chains == 2;
  Chain a = chains[0];
  Chain b = chains[k_chains - 1];
  while (!a.is_done() && !(k_two && b.is_done())) {
    if (a.in.next > a.limit || (k_two && b.in.next > b.limit)) return false;
    a.refill();
    if constexpr (k_two) b.refill();
    const Stuck stuck = steps<k_two, k_how, k_steps_to_refill>(a, b);
    if (stuck == Stuck::a) [[unlikely]] {
      a.refill();
      if (!step_symbol<k_how>(a)) return false;
    } else if (stuck == Stuck::b) [[unlikely]] {
      b.refill();
      if (!step_symbol<k_how>(b)) return false;
    }
  }
  a.refill();
  chains[0] = a;
  if constexpr (k_two) {
    b.refill();
    chains[1] = b;
  }
  return true;
}

/// The same code for two instruction sets: most of the work is variable shifts, which are cheap only with BMI2.
struct EntropyDecoder::ChainsUntilOneIsDone {
  template <std::size_t k_chains, How k_how>
  static bool plain(Chain* chains) {
    return run_chains<k_chains, k_how>(chains);
  }
  template <std::size_t k_chains, How k_how>
  BALE_WITH_BMI2 static bool with_bmi2(Chain* chains) {
    return run_chains<k_chains, k_how>(chains);
  }
  template <std::size_t k_chains, Use k_use>
  static bool any(Chain* chains, BlockOrder order, bool has_bmi2) {
    constexpr How k_by_places{k_use, BlockOrder::pairs};  // any order but zigzag
    constexpr How k_in_zigzag{k_use, BlockOrder::zigzag};
    if (order == BlockOrder::zigzag) {
      return has_bmi2 ? with_bmi2<k_chains, k_in_zigzag>(chains) : plain<k_chains, k_in_zigzag>(chains);
    }
    return has_bmi2 ? with_bmi2<k_chains, k_by_places>(chains) : plain<k_chains, k_by_places>(chains);
  }
};

bool EntropyDecoder::run_one(Chain& chain, bool store, bool counts) const {
  using Loops = ChainsUntilOneIsDone;
  if (!store) return Loops::any<1, Use::skip>(&chain, order_, has_bmi2_);
  if (!counts) return Loops::any<1, Use::store>(&chain, order_, has_bmi2_);
  return Loops::any<1, Use::store_and_count>(&chain, order_, has_bmi2_);
}

/// Also stores the coefficients of skipped blocks, of which only DC is read.
bool EntropyDecoder::run_two(std::array<Chain, 2>& chains, BlockOrder order, bool has_bmi2) {
  return ChainsUntilOneIsDone::any<2, Use::store>(chains.data(), order, has_bmi2);
}

}  // namespace bale::image_detail
