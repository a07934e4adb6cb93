#include "bale/formats/storage/cache/entries/unit_map.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/system/fork_mutex.hpp"
#include "bale/formats/storage/cache/shared/shared_file.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_magic = 0x3270616d656c6162;  // "balemap2"
constexpr std::uint32_t k_absent = 0;
/// Of a present unit; the other bits are its next use. A token (process_slots.hpp) does not have it.
constexpr std::uint32_t k_present = std::uint32_t{1} << OrderTable::k_bits;

std::uint64_t word_of(std::uint32_t state, std::uint32_t crc) { return std::uint64_t{crc} << 32 | state; }
std::uint32_t state_of(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
std::uint32_t crc_in(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }
bool has_content(std::uint64_t word) { return (state_of(word) & k_present) != 0; }

void append(std::vector<UnitRun>& runs, std::uint64_t unit) {
  if (runs.empty() || runs.back().end != unit) runs.push_back({unit, unit});
  runs.back().end = unit + 1;
}

}  // namespace

struct UnitMap::Header {
  std::atomic<std::uint64_t> magic;
  std::atomic<std::uint64_t> file_bytes;
  std::atomic<std::uint32_t> progress;
  std::array<std::uint32_t, 11> unused;
};

struct UnitMap::Region {
  std::atomic<Tick> last_use;
  std::atomic<std::uint32_t> num_present;
};

std::uint64_t UnitMap::size_of_map(std::uint64_t file_bytes) {
  const std::uint64_t units = units_of(0, file_bytes).end;
  const std::uint64_t regions = (units + k_units_per_region - 1) / k_units_per_region;
  return sizeof(Header) + regions * sizeof(Region) + units * sizeof(std::uint64_t);
}

UnitMap::UnitMap(const std::string& path, std::uint64_t file_bytes) {
  const std::array<std::uint64_t, 2> head{k_magic, file_bytes};
  map(open_shared_file(path, size_of_map(file_bytes), std::as_bytes(std::span(head))), path);
  if (file_bytes_ != file_bytes) refuse(path);
}

UnitMap::UnitMap(const std::string& path) { map(File::open_update(path), path); }

void UnitMap::refuse(const std::string& path) {
  throw Error(ErrorCode::damaged, "not a map of a cached file", {.path = path, .hint = "remove it"});
}

void UnitMap::map(const File& file, const std::string& path) {
  std::array<std::byte, sizeof(Header)> head{};
  if (file.read_some(0, head) < head.size() || load_at<std::uint64_t>(head.data()) != k_magic) {
    refuse(path);
  }
  file_bytes_ = load_at<std::uint64_t>(head.data() + sizeof(std::uint64_t));
  const std::uint64_t size = size_of_map(file_bytes_);
  if (file_bytes_ > (std::uint64_t{1} << 50) || file.size() != size) refuse(path);
  mapping_ = FileMapping(file, size);
}

UnitMap::Region& UnitMap::region(std::uint64_t number) const {
  return reinterpret_cast<Region*>(mapping_.memory() + sizeof(Header))[number];
}

std::atomic<std::uint64_t>& UnitMap::unit(std::uint64_t number) const {
  return reinterpret_cast<std::atomic<std::uint64_t>*>(mapping_.memory() + sizeof(Header) +
                                                       num_regions() * sizeof(Region))[number];
}

bool UnitMap::is_present(std::uint64_t number) const { return has_content(unit(number).load()); }

bool UnitMap::all_present(UnitRun units) const {
  for (std::uint64_t i = units.first; i < units.end; ++i) {
    if (!is_present(i)) return false;
  }
  return true;
}

std::uint32_t UnitMap::crc_of(std::uint64_t number) const { return crc_in(unit(number).load()); }

UnitMap::Claims UnitMap::claim(UnitRun units, const ProcessSlots& slots) {
  Claims claims;
  const std::uint32_t token = slots.token();
  std::uint32_t known_alive = k_absent;  // most units of a range have one owner
  for (std::uint64_t i = units.first; i < units.end; ++i) {
    std::uint64_t word = unit(i).load();
    const std::uint32_t state = state_of(word);
    if (has_content(word)) continue;
    if (state != k_absent && state != known_alive && slots.is_alive(state)) known_alive = state;
    if ((state != k_absent && state == known_alive) || !unit(i).compare_exchange_strong(word, word_of(token, 0))) {
      claims.others = true;
      continue;
    }
    append(claims.runs, i);
  }
  return claims;
}

void UnitMap::set_present(std::uint64_t number, std::uint32_t crc) {
  if (!has_content(unit(number).exchange(word_of(k_present, crc)))) {
    region(number / k_units_per_region).num_present.fetch_add(1);
  }
}

void UnitMap::release(UnitRun units, std::uint32_t token) {
  for (std::uint64_t i = units.first; i < units.end; ++i) {
    std::uint64_t claimed = word_of(token, 0);
    unit(i).compare_exchange_strong(claimed, word_of(k_absent, 0));
  }
}

bool UnitMap::claim_wrong(std::uint64_t number, std::uint32_t crc, std::uint32_t token) {
  std::uint64_t word = unit(number).load();
  do {
    if (!has_content(word) || crc_in(word) != crc) return false;
  } while (!unit(number).compare_exchange_weak(word, word_of(token, 0)));
  region(number / k_units_per_region).num_present.fetch_sub(1);
  return true;
}

std::vector<UnitRun> UnitMap::claim_abandoned(const ProcessSlots& slots) {
  std::vector<UnitRun> runs;
  const std::uint32_t token = slots.token();
  std::uint32_t known_alive = token;
  for (std::uint64_t i = 0; i < num_units(); ++i) {
    std::uint64_t word = unit(i).load();
    const std::uint32_t state = state_of(word);
    if (state == k_absent || has_content(word) || state == known_alive) continue;
    if (slots.is_alive(state)) {
      known_alive = state;
    } else if (unit(i).compare_exchange_strong(word, word_of(token, 0))) {
      append(runs, i);
    }
  }
  return runs;
}

UnitRun UnitMap::units_of_region(std::uint64_t number) const {
  return {number * k_units_per_region, std::min((number + 1) * k_units_per_region, num_units())};
}

std::vector<UnitRun> UnitMap::claim_present(UnitRun units, std::uint32_t token) {
  std::vector<UnitRun> runs;
  for (std::uint64_t i = units.first; i < units.end; ++i) {
    std::uint64_t word = unit(i).load();
    if (!has_content(word) || !unit(i).compare_exchange_strong(word, word_of(token, 0))) continue;
    region(i / k_units_per_region).num_present.fetch_sub(1);
    append(runs, i);
  }
  return runs;
}

std::optional<std::uint32_t> UnitMap::next_use(std::uint64_t number) const {
  const std::uint64_t word = unit(number).load(std::memory_order_relaxed);
  return has_content(word) ? std::optional(state_of(word) & ~k_present) : std::nullopt;
}

void UnitMap::set_next_use(std::uint64_t number, std::uint32_t use) {
  std::uint64_t word = unit(number).load();
  if (has_content(word)) unit(number).compare_exchange_strong(word, word_of(k_present | use, crc_in(word)));
}

void UnitMap::touch(UnitRun units, Tick now) {
  if (units.first >= units.end) return;
  for (std::uint64_t r = units.first / k_units_per_region; r <= (units.end - 1) / k_units_per_region; ++r) {
    if (region(r).last_use.load(std::memory_order_relaxed) != now) region(r).last_use.store(now);
  }
}

Tick UnitMap::last_use(std::uint64_t number) const { return region(number).last_use.load(); }
std::uint32_t UnitMap::num_present(std::uint64_t number) const { return region(number).num_present.load(); }

std::uint32_t UnitMap::progress() const { return reinterpret_cast<Header*>(mapping_.memory())->progress.load(); }
void UnitMap::announce() { futex_bump(reinterpret_cast<Header*>(mapping_.memory())->progress); }
void UnitMap::wait(std::uint32_t seen, int timeout_ms) const {
  futex_wait(reinterpret_cast<Header*>(mapping_.memory())->progress, seen, timeout_ms);
}

}  // namespace bale
