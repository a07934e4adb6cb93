#include "bale/writer/stream/key_table.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>

#include "bale/formats/base/error.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_first_slots = 4096;

/// The hash, or what stands for it: 0 marks a free slot.
std::uint64_t stored(std::uint64_t hash) { return hash == 0 ? 1 : hash; }

/// The slot of the hash, or the free slot where it belongs.
std::uint64_t slot_of(const std::uint64_t* slots, std::uint64_t num_slots, std::uint64_t hash) {
  std::uint64_t at = hash & (num_slots - 1);
  while (slots[at] != 0 && slots[at] != hash) at = (at + 1) & (num_slots - 1);
  return at;
}

}  // namespace

KeyTable::~KeyTable() {
  if (slots_ != nullptr) ::munmap(slots_, num_slots_ * sizeof *slots_);
}

bool KeyTable::may_have(std::uint64_t hash) const {
  return num_slots_ != 0 && slots_[slot_of(slots_, num_slots_, stored(hash))] != 0;
}

void KeyTable::insert(std::uint64_t hash) {
  if ((size_ + 1) * 4 > num_slots_ * 3) grow();
  std::uint64_t& slot = slots_[slot_of(slots_, num_slots_, stored(hash))];
  if (slot == 0) ++size_;
  slot = stored(hash);
}

void KeyTable::grow() {
  const std::uint64_t num_slots = num_slots_ == 0 ? k_first_slots : num_slots_ * 2;
  const std::uint64_t bytes = num_slots * sizeof *slots_;
  File file;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  if (bytes > memory_bytes_) {
    file = File::create_unnamed(directory_);
    file.reserve(bytes);  // a page without a block on the disk would end the process by SIGBUS
    flags = MAP_SHARED;
  }
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file.is_open() ? file.fd() : -1, 0);
  if (memory == MAP_FAILED) throw_mapping_errno("map the table of keys of", directory_);
  auto* const slots = static_cast<std::uint64_t*>(memory);
  for (std::uint64_t at = 0; at < num_slots_; ++at) {
    if (slots_[at] != 0) slots[slot_of(slots, num_slots, slots_[at])] = slots_[at];
  }
  if (slots_ != nullptr) ::munmap(slots_, num_slots_ * sizeof *slots_);
  slots_ = slots;
  num_slots_ = num_slots;
  file_ = std::move(file);
}

}  // namespace bale
