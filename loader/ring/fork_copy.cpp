#include "bale/loader/ring/fork_copy.hpp"

#include <sys/mman.h>

#include <cstdint>
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

/// Workers write what is copied. What they have not finished is in no batch of the child, so ThreadSanitizer need not
/// report it, as it does for memcpy().
__attribute__((no_sanitize("thread"))) void copy_words(std::byte* to, const std::byte* from, std::size_t bytes) {
  // A part begins at a page, and its last page is mapped.
  for (std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
    const auto* word = reinterpret_cast<const std::uint64_t*>(from + at);
    *reinterpret_cast<std::uint64_t*>(to + at) = __atomic_load_n(word, __ATOMIC_RELAXED);
  }
}

/// The copy is made before fork(): the other threads of the parent do not wait for the child. If there is no memory for
/// it, the child shares the part.
void make_copies() {
  parts->mutex.lock();
  for (auto& [begin, part] : parts->by_begin) {
    part.copy = ::mmap(nullptr, part.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (part.copy != MAP_FAILED) copy_words(static_cast<std::byte*>(part.copy), begin, part.bytes);
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
