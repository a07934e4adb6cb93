// The lock of a run on its destination. It is held from before the first change until the run ends.
//
// It is flock() on the journal. The kernel releases it when the process ends, and NFS forwards it to the server. Some
// file systems do not support locks (Lustre mounted without them). Then the lock is a file next to the journal, created
// with O_EXCL, that names the process that holds it. The file is stale when that process has ended.
#pragma once

#include "bale/writer/destination/directory.hpp"

namespace bale {

class DirectoryLock {
 public:
  DirectoryLock() = default;  // holds nothing
  /// Locks `file`, an open file in `directory`. Throws `retryable` if another run holds the lock. The message names
  /// that run's process if only the owner file identifies it.
  static DirectoryLock take(const Directory& directory, int file);
  /// Throws `retryable` if another run holds the lock. Changes nothing.
  static void require_free(const Directory& directory, int file);
  ~DirectoryLock();
  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&& other) noexcept;

  /// Name of the owner file.
  static constexpr const char* k_owner_name = "owner.json";

 private:
  void release() noexcept;

  Descriptor owner_directory_;  // valid if this lock has an owner file
};

}  // namespace bale
