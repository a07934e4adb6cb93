// PerProcess: an object that each process has one of. It is made by the first use.
//
// A child of fork() has none of its parent's threads, and a mutex may be locked by one of them forever. So the child
// makes an object of its own and leaves its copy of the parent's alone. No mutex is involved: another thread might hold
// it when the process forks.
//
// Ownership: a constant-initialized static object. What it made is destroyed by destroy(), if at all.
// Threads: any number may call.
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>

namespace bale {

template <typename T>
class PerProcess {
 public:
  constexpr PerProcess() = default;

  /// The object of this process. `make` returns a std::unique_ptr<T>; if it throws, the next call tries again.
  template <typename Make>
  T& get(Make make) {
    Own* here = current_.load();
    if (here == nullptr || here->owner != ::getpid()) {
      auto made = std::make_unique<Own>();
      made->owner = ::getpid();
      if (current_.compare_exchange_strong(here, made.get())) here = made.release();
    }
    std::call_once(here->is_made, [&] { here->object = make(); });
    return *here->object;
  }

  /// Destroys the object of this process, if there is one: at its exit, when nobody uses it.
  void destroy() {
    Own* const here = current_.load();
    if (here == nullptr || here->owner != ::getpid()) return;
    current_ = nullptr;
    delete here;
  }

 private:
  struct Own {
    pid_t owner = 0;
    std::once_flag is_made;
    std::unique_ptr<T> object;
  };
  std::atomic<Own*> current_{nullptr};
};

}  // namespace bale
