// The lock of a run on its destination: held from before anything is changed there until the run is over.
//
// It is flock() on the journal, which the kernel lets go of when the process ends, and which NFS passes on to its
// server. Some file systems have no locks (Lustre mounted without them). Then it is a file beside the journal, made
// with O_EXCL, that says which process holds it: it is stale as soon as that process is gone.
#pragma once

#include <string>

#include "bale/writer/directory.hpp"

namespace bale {

class DirectoryLock {
 public:
  DirectoryLock() = default;  // holds nothing
  /// Locks `file`, an open file in `directory`. Throws `retryable` if another run holds the lock, and says who if only
  /// the owner file can tell.
  static DirectoryLock take(const Directory& directory, int file);
  ~DirectoryLock();
  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&& other) noexcept;

  /// Name of the owner file.
  static constexpr const char* k_owner_name = "owner.json";

 private:
  void release() noexcept;

  Descriptor owner_directory_;  // valid if there is an owner file of ours
};

}  // namespace bale
