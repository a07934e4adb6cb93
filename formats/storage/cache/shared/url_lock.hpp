// UrlLock: held by the one thread, of all processes that share a cache, which asks a server for a file.
//
// The kernel releases it however its process ends.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "bale/formats/storage/cache/shared/file_lock.hpp"

namespace bale {

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
