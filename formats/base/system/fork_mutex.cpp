#include "bale/formats/base/system/fork_mutex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>
#include <utility>

#include <pthread.h>

namespace bale {
namespace {

constinit ForkMutex* first = nullptr;

}  // namespace

ForkMutex::ForkMutex() : next_(std::exchange(first, this)) {
  if (next_ == nullptr) ::pthread_atfork(&lock_all, &unlock_all, &unlock_all);
}

void ForkMutex::lock_all() {
  for (ForkMutex* one = first; one != nullptr; one = one->next_) one->lock();
}

void ForkMutex::unlock_all() {
  for (ForkMutex* one = first; one != nullptr; one = one->next_) one->unlock();
}

namespace {

const std::uint32_t* address_of(const std::atomic<std::uint32_t>& word) {
  return reinterpret_cast<const std::uint32_t*>(&word);
}

}  // namespace

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t seen, int timeout_ms) {
  const timespec timeout{timeout_ms / 1000, (timeout_ms % 1000) * 1'000'000L};
  ::syscall(SYS_futex, address_of(word), FUTEX_WAIT, seen, &timeout, nullptr, 0);
}

void futex_bump(std::atomic<std::uint32_t>& word) {
  word.fetch_add(1);
  ::syscall(SYS_futex, address_of(word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace bale
