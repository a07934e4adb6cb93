// DirectoryListing: the entries of one directory, read in one go. ListAhead reads directories on several threads before
// a walk asks for them.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "bale/formats/base/error.hpp"

namespace bale {

enum class EntryKind : std::uint8_t { directory, file, other, broken_link, gone };

class DirectoryListing {
 public:
  /// Reads a directory. What fails is kept, not thrown, with the entries before it.
  static DirectoryListing read(const std::string& path);

  /// errno of a directory that could not be opened; 0 if it could.
  int open_error() const { return open_error_; }
  /// What ended reading early. Another error than one of opening.
  const std::optional<Error>& failure() const { return failure_; }
  dev_t device() const { return device_; }
  ino_t inode() const { return inode_; }

  // Entries in the file system's order, without "." and "..".
  std::size_t size() const { return entries_.size(); }
  /// Borrows from this object.
  const char* name(std::size_t i) const { return names_.c_str() + entries_[i].name; }
  /// Of what a link leads to.
  EntryKind kind(std::size_t i) const { return entries_[i].kind; }
  bool is_link(std::size_t i) const { return entries_[i].is_link; }

 private:
  struct Entry {
    std::size_t name;  // in names_
    EntryKind kind;
    bool is_link;
  };

  int open_error_ = 0;
  std::optional<Error> failure_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::string names_;  // each NUL-terminated
  std::vector<Entry> entries_;
};

/// Threads: announce() and take() are called by one thread. Memory: listings of at most k_max_ready directories, or of
/// k_max_entries entries and one directory per thread, that were not taken.
class ListAhead {
 public:
  static constexpr std::size_t k_max_ready = 256;
  static constexpr std::size_t k_max_entries = 1'000'000;

  /// Threads start with the first announce(). With `jobs` of 1 there are none.
  explicit ListAhead(unsigned jobs) : jobs_(jobs) {}
  ~ListAhead();
  ListAhead(const ListAhead&) = delete;
  ListAhead& operator=(const ListAhead&) = delete;

  /// The directory will be taken, and was listed already.
  void give(const std::string& path, DirectoryListing listing);
  /// The directory will be taken. The one announced last is read first.
  void announce(const std::string& path);
  /// The listing, read here unless a thread has begun to. A path that was not announced may be taken, too.
  DirectoryListing take(const std::string& path);

 private:
  struct Slot {
    bool begun = false;
    std::optional<DirectoryListing> ready{};
  };
  void run();
  bool has_room() const { return num_ready_ < k_max_ready && num_entries_ < k_max_entries; }

  const unsigned jobs_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> waiting_;  // may have paths that were taken in the meantime
  std::unordered_map<std::string, Slot> slots_;
  std::size_t num_ready_ = 0;
  std::size_t num_entries_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

/// The order in which Python sorts file names, so that classes and samples are numbered as torchvision does.
///
/// Pure functions, safe in any thread.
/// `a < b` as Python compares the `str` that os.fsdecode makes of raw names: by code point. A byte that is not UTF-8 is
/// U+DC80..U+DCFF (PEP 383).
bool python_less(std::string_view a, std::string_view b);

}  // namespace bale
