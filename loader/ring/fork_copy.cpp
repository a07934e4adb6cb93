#include "bale/loader/ring/fork_copy.hpp"

#include <sys/mman.h>

#include <cstring>
#include <map>
#include <mutex>

#include <pthread.h>

namespace bale::loader_detail {
namespace {

struct Part {
  std::size_t bytes = 0;
  std::size_t users = 0;
  void* copy = MAP_FAILED;  // while fork() runs
};

struct Parts {
  std::mutex mutex;  // fork() waits for it
  std::map<std::byte*, Part> by_begin{};
};

// Never destroyed: the process may fork while it exits.
Parts* const parts = new Parts;

/// The copy is made before fork(): the other threads of the parent do not wait for the child. If there is no memory for
/// it, the child shares the part.
void make_copies() {
  parts->mutex.lock();
  for (auto& [begin, part] : parts->by_begin) {
    part.copy = ::mmap(nullptr, part.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (part.copy != MAP_FAILED) std::memcpy(part.copy, begin, part.bytes);
  }
}

void drop_copies() {
  for (auto& [begin, part] : parts->by_begin) {
    if (part.copy != MAP_FAILED) ::munmap(part.copy, part.bytes);
  }
  parts->mutex.unlock();
}

void take_copies() {
  for (auto& [begin, part] : parts->by_begin) {
    if (part.copy != MAP_FAILED) ::mremap(part.copy, part.bytes, part.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, begin);
  }
  parts->by_begin.clear();  // it is the child's own memory now
  parts->mutex.unlock();
}

// At load, before there are threads: fork() may come while another thread makes a ForkCopy.
[[maybe_unused]] const int registered = ::pthread_atfork(&make_copies, &drop_copies, &take_copies);

}  // namespace

ForkCopy::ForkCopy(MutableBytes part) : begin_(part.data()) {
  if (part.empty()) return;
  const std::lock_guard lock(parts->mutex);
  Part& known = parts->by_begin[begin_];
  known.bytes = part.size();
  ++known.users;
}

ForkCopy::~ForkCopy() {
  const std::lock_guard lock(parts->mutex);
  const auto found = parts->by_begin.find(begin_);
  if (found != parts->by_begin.end() && --found->second.users == 0) parts->by_begin.erase(found);
}

}  // namespace bale::loader_detail
