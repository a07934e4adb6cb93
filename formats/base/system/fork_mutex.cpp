#include "bale/formats/base/system/fork_mutex.hpp"

#include <pthread.h>

#include <utility>

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

}  // namespace bale
