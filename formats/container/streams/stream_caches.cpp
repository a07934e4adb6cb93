#include "bale/formats/container/streams/stream_caches.hpp"

#include <pthread.h>
#include <sys/statvfs.h>

#include <limits>

#include "bale/formats/base/names/size_text.hpp"

namespace bale {
namespace {

/// Both caches. Never destroyed: threads may still read while the process ends.
struct Caches {
  SharedCache<Frame> frames;
  SharedCache<Stream> spills;
};

Caches& caches() {
  static Caches* const made = [] {
    static auto* const both = new Caches;
    ::pthread_atfork([] { both->frames.lock(), both->spills.lock(); },
                     [] { both->spills.unlock(), both->frames.unlock(); },
                     [] { both->spills.unlock(), both->frames.unlock(); });
    return both;
  }();
  return *made;
}

// At load, before there are threads: fork() may come while another thread makes them.
[[maybe_unused]] const Caches& made_at_load = caches();

}  // namespace

SharedCache<Frame>& frame_cache() { return caches().frames; }

SharedCache<Stream>& spill_cache() { return caches().spills; }

std::uint64_t spill_cache_limit(const std::string& directory) {
  if (const auto limit = env_bytes("BALE_SPILL_BYTES")) return *limit;
  struct statvfs info {};
  if (::statvfs(directory.c_str(), &info) != 0) return std::numeric_limits<std::uint64_t>::max();
  return (std::uint64_t{info.f_bavail} * info.f_frsize + spill_cache().bytes()) / 2;
}

}  // namespace bale
