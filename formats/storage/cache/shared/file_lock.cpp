#include "bale/formats/storage/cache/shared/file_lock.hpp"

#include <fcntl.h>
#include <pthread.h>

#include <cerrno>
#include <set>
#include <thread>
#include <utility>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/storage/cache/shared/shared_file.hpp"

namespace bale {
namespace {

constexpr auto k_pause = std::chrono::milliseconds(10);

}  // namespace

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

UrlLock::UrlLock(const std::string& path, std::string_view name, std::chrono::seconds patience) {
  try {
    file_ = FileLock(open_shared_file(path, 1));
  } catch (const Error&) {
    return;
  }
  struct flock byte {};
  byte.l_type = F_WRLCK;
  byte.l_whence = SEEK_SET;
  byte.l_start = static_cast<off_t>(hash_key(name) >> 2);  // of two names with one byte, one waits for the other
  byte.l_len = 1;
  const auto end = std::chrono::steady_clock::now() + patience;
  while (::fcntl(file_.fd(), F_OFD_SETLK, &byte) != 0) {
    const bool is_taken = errno == EAGAIN || errno == EACCES || errno == EINTR;
    if (!is_taken || std::chrono::steady_clock::now() > end) return;
    poll_remote_wait();
    std::this_thread::sleep_for(k_pause);
  }
}

}  // namespace bale
