#include "bale/formats/storage/cache/shared/process_slots.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/formats/storage/cache/shared/shared_file.hpp"

namespace bale {
namespace {

constexpr std::size_t k_file_bytes = ProcessSlots::k_num_slots * sizeof(std::uint32_t);

struct flock byte_lock(std::uint32_t slot, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(slot);
  lock.l_len = 1;
  return lock;
}

}  // namespace

ProcessSlots::ProcessSlots(const std::string& path)
    : path_(path),
      mapping_(map_shared_file(path, k_file_bytes)),
      generations_(reinterpret_cast<std::atomic<std::uint32_t>*>(mapping_.memory())) {
  // Opened again: a mapping, which children inherit, keeps the locks of the open file that it was made of.
  take(File::open_update(path));
}

/// Takes a free slot, if there is one, for this process.
void ProcessSlots::take(File file) const {
  own_ = {.file = FileLock(std::move(file)), .token = 0};
  for (std::uint32_t slot = 0; slot < k_num_slots && own_.token == 0; ++slot) {
    if (!lock(own_.file.fd(), slot)) continue;
    const std::uint32_t generation = (generations_[slot].load() + 1) & ((1u << k_generation_bits) - 1);
    generations_[slot].store(generation);
    own_.token = (slot + 1) << k_generation_bits | generation;
  }
  owner_.store(::getpid());
}

/// What the parent had is not the child's: its lock says that the parent lives.
const ProcessSlots::OwnSlot& ProcessSlots::own() const {
  if (owner_.load() == ::getpid()) return own_;
  const auto no_fork = FileLock::hold_off_forks();
  if (owner_.load() == ::getpid()) return own_;  // another thread was first
  try {
    take(File::open_update(path_));
  } catch (const Error&) {  // the cache was removed, so nobody else looks at the slots
    own_ = {};
    owner_.store(::getpid());
  }
  return own_;
}

bool ProcessSlots::lock(int fd, std::uint32_t slot) {
  struct flock wanted = byte_lock(slot, F_WRLCK);
  return ::fcntl(fd, F_OFD_SETLK, &wanted) == 0;
}

bool ProcessSlots::is_locked(std::uint32_t slot) const {
  struct flock wanted = byte_lock(slot, F_WRLCK);
  return ::fcntl(own().file.fd(), F_OFD_GETLK, &wanted) == 0 && wanted.l_type != F_UNLCK;
}

bool ProcessSlots::is_alive(std::uint32_t token) const {
  if (token == own().token) return true;
  const std::uint32_t slot = slot_of(token);
  if (slot >= k_num_slots) return false;
  return generations_[slot].load() == (token & ((1u << k_generation_bits) - 1)) && is_locked(slot);
}

bool ProcessSlots::has_others() const {
  const std::uint32_t own_token = token();
  for (std::uint32_t slot = 0; slot < k_num_slots; ++slot) {
    if ((own_token == 0 || slot != slot_of(own_token)) && is_locked(slot)) return true;
  }
  return false;
}

}  // namespace bale
