#include "bale/formats/storage/cache/entries/usage.hpp"

#include <algorithm>
#include <array>
#include <fstream>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/storage/cache/entries/unit_map.hpp"
#include "bale/formats/storage/cache/shared/shared_file.hpp"

namespace bale {
namespace {

constexpr int k_max_looks = 1000;  // until nobody reserves anything in the meantime

/// What a slot has reserved: the token of its process, and a number of units.
std::uint64_t reservation_of(std::uint32_t token, std::uint32_t units) { return std::uint64_t{token} << 32 | units; }
std::uint32_t token_in(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }
std::uint32_t units_in(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
std::uint32_t units_for(std::uint64_t bytes) { return static_cast<std::uint32_t>(units_of(0, bytes).end); }

/// A number of the machine's last start; 0 if the kernel gives none.
std::uint64_t this_start() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  return std::getline(file, id) ? hash_key(id) : 0;
}

}  // namespace

struct CacheUsage::Layout {
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint32_t> is_removing;
  std::atomic<std::uint32_t> is_unswept;  // a slot that a killed process had was taken again
  std::array<std::atomic<std::uint64_t>, ProcessSlots::k_num_slots> reserved;
  std::atomic<std::uint64_t> counted_in;  // the start of the machine in which the disk was counted; 0: not known
};

CacheUsage::CacheUsage(const std::string& path, const ProcessSlots& slots)
    : slots_(slots),
      mapping_(map_shared_file(path, sizeof(Layout))),
      layout_(reinterpret_cast<Layout*>(mapping_.memory())) {}

std::uint64_t CacheUsage::bytes() const { return layout_->bytes.load(); }

/// Null if the process has no slot: then nobody knows what it reserves.
std::atomic<std::uint64_t>* CacheUsage::own() const {
  const std::uint32_t token = slots_.token();
  return token == 0 ? nullptr : &layout_->reserved[ProcessSlots::slot_of(token)];
}

std::uint64_t CacheUsage::reserve(std::uint64_t bytes) {
  const std::uint64_t total = layout_->bytes.fetch_add(bytes) + bytes;
  std::atomic<std::uint64_t>* const mine = own();
  if (mine == nullptr) return total;
  const std::uint32_t token = slots_.token();
  std::uint64_t word = mine->load();
  std::uint64_t next = 0;
  do {
    next = reservation_of(token, (token_in(word) == token ? units_in(word) : 0) + units_for(bytes));
  } while (!mine->compare_exchange_weak(word, next));
  if (token_in(word) != token && units_in(word) != 0) {
    removed(units_in(word) * k_unit_bytes);
    layout_->is_unswept.store(1);
  }
  return total;
}

void CacheUsage::stored(std::uint64_t reserved_bytes) {
  std::atomic<std::uint64_t>* const mine = own();
  if (mine == nullptr) return;
  const std::uint32_t token = slots_.token();
  std::uint64_t word = mine->load();
  // What a parent had reserved before fork() is in the parent's slot.
  while (token_in(word) == token &&
         !mine->compare_exchange_weak(
             word, reservation_of(token, units_in(word) - std::min(units_in(word), units_for(reserved_bytes))))) {
  }
}

void CacheUsage::give_back(std::uint64_t reserved_bytes) {
  stored(reserved_bytes);
  removed(reserved_bytes);
}

void CacheUsage::added(std::uint64_t bytes) { layout_->bytes.fetch_add(bytes); }

void CacheUsage::removed(std::uint64_t bytes) {
  std::uint64_t used = layout_->bytes.load();
  while (!layout_->bytes.compare_exchange_weak(used, used > bytes ? used - bytes : 0)) {
  }
}

void CacheUsage::begin_removal() { layout_->is_removing.store(1); }
void CacheUsage::end_removal() { layout_->is_removing.store(0); }

bool CacheUsage::sweep() {
  bool was_killed = layout_->is_unswept.load() != 0 || layout_->is_removing.load() != 0;
  for (std::atomic<std::uint64_t>& reserved : layout_->reserved) {
    std::uint64_t word = reserved.load();
    if (units_in(word) == 0 || slots_.is_alive(token_in(word))) continue;
    if (!reserved.compare_exchange_strong(word, 0)) continue;
    removed(units_in(word) * k_unit_bytes);
    was_killed = true;
  }
  if (!was_killed) return false;
  begin_removal();  // who is killed now leaves all of it to the next one
  layout_->is_unswept.store(0);
  return true;
}

CacheUsage::HeldBytes CacheUsage::held_now() const {
  HeldBytes held;
  for (int i = 0; i < k_max_looks; ++i) {
    held = {.bytes = bytes(), .reserved = 0};
    for (const std::atomic<std::uint64_t>& reserved : layout_->reserved) {
      held.reserved += units_in(reserved.load()) * k_unit_bytes;
    }
    if (held.bytes == bytes()) break;
  }
  return held;
}

bool CacheUsage::is_counted() const {
  const std::uint64_t start = this_start();
  return start != 0 && layout_->counted_in.load() == start;
}

void CacheUsage::set_counted() { layout_->counted_in.store(this_start()); }

/// What was reserved and given back while the disk was counted stays so.
void CacheUsage::correct(const HeldBytes& before, std::uint64_t on_disk) {
  const std::uint64_t right = before.reserved + on_disk;
  if (right > before.bytes) {
    added(right - before.bytes);
  } else {
    removed(before.bytes - right);
  }
}

}  // namespace bale
