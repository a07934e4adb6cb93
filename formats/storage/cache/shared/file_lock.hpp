// FileLock: the open file of a lock (flock() or F_OFD_SETLK) that no child of fork() inherits.
//
// Such a lock belongs to the open file, not to the process: it would last until the last child that has inherited the
// descriptor ends, also if its owner is killed. So a child closes its copies when it begins.
//
// Threads: different objects may be used by different threads.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "bale/formats/base/file.hpp"

namespace bale {

class FileLock {
 public:
  FileLock();
  explicit FileLock(File file);
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;

  /// -1 if it is not open, as in a child of the process that opened it.
  int fd() const;

  /// While it is held, no other thread forks: for what a child must not find half done.
  static std::unique_lock<std::mutex> hold_off_forks();

 private:
  struct Held;
  std::unique_ptr<Held> held_;
};

// UrlLock: held by the one thread, of all processes that share a cache, which asks a server for a file.
//
// The kernel releases it however its process ends.

class UrlLock {
 public:
  /// Holds nothing.
  UrlLock() = default;
  /// Waits for the lock of `name` in the file `path`. After `patience`, or if the file cannot be used, it continues
  /// without.
  UrlLock(const std::string& path, std::string_view name, std::chrono::seconds patience);

 private:
  FileLock file_;  // one per lock, so that threads of one process exclude each other, too
};

}  // namespace bale
