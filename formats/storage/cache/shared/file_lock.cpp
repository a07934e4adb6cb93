#include "bale/formats/storage/cache/shared/file_lock.hpp"

#include <pthread.h>

#include <set>
#include <utility>

namespace bale {

struct FileLock::Held {
  explicit Held(File opened);
  ~Held();
  File file;
};

namespace {

/// Never destroyed: threads may still hold locks while the process ends.
struct OpenLocks {
  std::mutex forks;  // locked before `mutex`
  std::mutex mutex;
  std::set<File*> files;

  void lock() {
    forks.lock();
    mutex.lock();
  }
  void unlock() {
    mutex.unlock();
    forks.unlock();
  }
};

OpenLocks& open_locks() {
  static OpenLocks* const made = [] {
    static auto* const locks = new OpenLocks;
    ::pthread_atfork([] { locks->lock(); }, [] { locks->unlock(); },
                     [] {
                       for (File* const file : locks->files) *file = {};
                       locks->files.clear();
                       locks->unlock();
                     });
    return locks;
  }();
  return *made;
}

// At load, before there are threads: fork() may come while another thread makes it.
[[maybe_unused]] const OpenLocks& made_at_load = open_locks();

}  // namespace

FileLock::Held::Held(File opened) : file(std::move(opened)) {
  OpenLocks& locks = open_locks();
  const std::lock_guard lock(locks.mutex);
  locks.files.insert(&file);
}

FileLock::Held::~Held() {
  OpenLocks& locks = open_locks();
  const std::lock_guard lock(locks.mutex);
  locks.files.erase(&file);
}

FileLock::FileLock() = default;
FileLock::FileLock(File file) : held_(std::make_unique<Held>(std::move(file))) {}
FileLock::~FileLock() = default;
FileLock::FileLock(FileLock&&) noexcept = default;
FileLock& FileLock::operator=(FileLock&&) noexcept = default;

int FileLock::fd() const { return held_ ? held_->file.fd() : -1; }

std::unique_lock<std::mutex> FileLock::hold_off_forks() { return std::unique_lock(open_locks().forks); }

}  // namespace bale
