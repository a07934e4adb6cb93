// Work on several threads, also where the system may refuse one: by `ulimit -u`, by a control group, or for lack of
// memory.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <functional>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace bale {

/// Throws `out_of_memory` if the system starts no more threads.
std::thread start_thread(std::function<void()> run);

/// Adds a thread to others that do the same work. Returns false if the system starts no more.
template <typename Run>
bool add_thread(std::vector<std::thread>& threads, const Run& run) noexcept {
  try {
    threads.emplace_back(run);
    return true;
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  return false;
}

/// The process that made an object. A child of fork() has the object's memory but none of its threads: it
/// may neither wait for them nor destroy what they wait for.
class OwnProcess {
 public:
  bool is_here() const { return pid_ == ::getpid(); }

 private:
  pid_t pid_ = ::getpid();
};

/// Calls `work(i)` for every i in [0, count) on up to `jobs` threads (0: one per core), lowest first: on fewer if the
/// system starts no more, at least on the caller's. After an exception no further piece is begun; the first exception
/// is rethrown here once all threads are done. `stop_others`, if given, is called once, after the first exception was
/// kept: it may end the pieces that are under way, and what they throw then is never taken for the failure. It must not
/// throw.
void run_parallel(std::size_t count, unsigned jobs, const std::function<void(std::size_t)>& work,
                  const std::function<void()>& stop_others = {});

}  // namespace bale
