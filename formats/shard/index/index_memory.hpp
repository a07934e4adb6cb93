// IndexMemory: memory for indexes that a program shares with its workers, by a file descriptor.
//
// It only grows. An index stays where it is until the memory's last user ends, so that a worker can read it at any
// time.
//
// Threads: all methods may be called by many threads at once.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <mutex>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/file_stamp.hpp"

namespace bale {

class IndexMemory {
 public:
  /// Takes ownership of `fd`, which memfd_create() has returned, here or in the program that adds the indexes.
  explicit IndexMemory(int fd) : fd_(fd) {}
  ~IndexMemory();
  IndexMemory(const IndexMemory&) = delete;
  IndexMemory& operator=(const IndexMemory&) = delete;

  int fd() const { return fd_; }
  /// From now on no index is added beyond this size.
  void set_limit(std::uint64_t bytes);
  /// Copies an index. Its place is empty if there is no room.
  IndexPlace add(Bytes index);
  /// The index at `place`, which lives as long as this object; empty if it cannot be mapped.
  Bytes at(const IndexPlace& place);

 private:
  int fd_;
  std::mutex mutex_;
  std::uint64_t limit_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t end_ = 0;
  std::map<std::uint64_t, Bytes> windows_;  // mapped parts, by their offset
};

}  // namespace bale
