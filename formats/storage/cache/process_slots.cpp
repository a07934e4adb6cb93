#include "bale/formats/storage/cache/process_slots.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/storage/cache/shared_file.hpp"

namespace bale {
namespace {

struct flock byte_lock(std::uint32_t slot, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(slot);
  lock.l_len = 1;
  return lock;
}

}  // namespace

ProcessSlots::ProcessSlots(const std::string& path) : file_(open_shared_file(path, k_num_slots * sizeof(std::uint32_t))) {
  make_room(file_, k_num_slots * sizeof(std::uint32_t));  // it may have been truncated
  void* const memory =
      ::mmap(nullptr, k_num_slots * sizeof(std::uint32_t), PROT_READ | PROT_WRITE, MAP_SHARED, file_.fd(), 0);
  if (memory == MAP_FAILED) throw_errno("map", path);
  generations_ = static_cast<std::atomic<std::uint32_t>*>(memory);
  for (slot_ = 0; slot_ < k_num_slots && !lock(slot_);) ++slot_;
  if (slot_ == k_num_slots) return;
  const std::uint32_t generation = (generations_[slot_].load() + 1) & ((1u << k_generation_bits) - 1);
  generations_[slot_].store(generation);
  token_ = (slot_ + 1) << k_generation_bits | generation;
}

ProcessSlots::~ProcessSlots() { ::munmap(generations_, k_num_slots * sizeof(std::uint32_t)); }

bool ProcessSlots::lock(std::uint32_t slot) {
  struct flock wanted = byte_lock(slot, F_WRLCK);
  return ::fcntl(file_.fd(), F_OFD_SETLK, &wanted) == 0;
}

bool ProcessSlots::is_locked(std::uint32_t slot) const {
  struct flock wanted = byte_lock(slot, F_WRLCK);
  return ::fcntl(file_.fd(), F_OFD_GETLK, &wanted) == 0 && wanted.l_type != F_UNLCK;
}

bool ProcessSlots::is_alive(std::uint32_t token) const {
  if (token == token_) return true;
  const std::uint32_t slot = (token >> k_generation_bits) - 1;
  if (slot >= k_num_slots) return false;
  return generations_[slot].load() == (token & ((1u << k_generation_bits) - 1)) && is_locked(slot);
}

bool ProcessSlots::has_others() const {
  for (std::uint32_t slot = 0; slot < k_num_slots; ++slot) {
    if ((token_ == 0 || slot != slot_) && is_locked(slot)) return true;
  }
  return false;
}

}  // namespace bale
