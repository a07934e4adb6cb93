// Storage: where File finds bytes that are not on a local disk.
//
// The base knows only these interfaces. `formats/storage` implements them for URLs.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"

namespace bale {

/// When a reader that follows an order uses something again. Times are those of the order's own clock, on which an
/// epoch takes k_epoch: a cache compares them with each other, and estimates the pace of the clock.
struct NextUse {
  static constexpr std::uint64_t k_epoch = std::uint64_t{1} << 21;
  static constexpr std::uint64_t k_never = ~std::uint64_t{0};

  std::uint64_t order = 0;  // readers with the same number share a clock
  std::uint64_t now = 0;    // how far the order is
  std::uint64_t time = 0;   // of the use; k_never: there is none
};

/// One remote file, open for reading.
/// Threads: const methods may be called by many threads at once.
/// Errors: `changed` if the file is no longer the one that was opened, `retryable` if the server or the network failed
/// for longer than the time limit, `io`, `not_found`. They name the file as it was given to Storage::open().
class RemoteFile {
 public:
  virtual ~RemoteFile() = default;
  virtual std::uint64_t size() const = 0;
  /// Fills `out` from `offset`, less at the end of the file. Returns the number of bytes.
  virtual std::size_t read_some(std::uint64_t offset, MutableBytes out) const = 0;
  /// A hint: starts to fetch the range. Never fails, never waits for the network.
  virtual void will_need(std::uint64_t offset, std::uint64_t length) const = 0;
  /// The same. `held` is released when nothing of the range is under way by this call any more.
  virtual void fetch_ahead(std::uint64_t offset, std::uint64_t length, std::shared_ptr<const void> held) const = 0;
  /// Whether all of the range is in the cache.
  virtual bool is_cached(std::uint64_t offset, std::uint64_t length) const = 0;
  /// A hint: what is cached of the range is used next at this time. If two uses are known, the sooner one counts.
  virtual void will_use(std::uint64_t offset, std::uint64_t length, const NextUse& use) const = 0;
  /// Drops what is cached of the range, because it is not what was stored: the next read fetches it again.
  virtual void forget(std::uint64_t offset, std::uint64_t length) const = 0;
};

/// What is kept on a local disk of remote files, by all processes of the machine.
class ContentCache {
 public:
  virtual ~ContentCache() = default;
  /// Bytes that the cache may hold; 0 without a cache.
  virtual std::uint64_t bytes() const = 0;
  /// Bytes that can come into the cache before it must remove others; 0 without a cache.
  virtual std::uint64_t free_bytes() const = 0;
  /// How many bytes it makes sense to ask for with will_need() before they are read: a part of the cache.
  virtual std::uint64_t max_bytes_ahead() const = 0;
  /// A complete local copy of the file, which is fetched first and compared with its checksums; nullopt if the cache
  /// has no room for it. Its content stays as it is while the result is open or mapped. Its name may be removed at any
  /// time.
  virtual std::optional<File> local_copy(const std::string& name) const = 0;
  /// What keep() stored for this version of the file; nullopt if it is not there, or not any more.
  virtual std::optional<std::vector<std::byte>> kept(const std::string& name, std::string_view kind) const = 0;
  /// Stores what was made from this version of the file, if there is room. `kind` names what it is. The content needs a
  /// checksum of its own.
  virtual void keep(const std::string& name, std::string_view kind, Bytes content) const = 0;
  /// Drops all that is cached of the file.
  virtual void forget(const std::string& name) const = 0;
  /// The server is asked again which version of the file it has, and another one than before is not an error: for a
  /// file that is not what PinnedContent says.
  virtual void refresh(const std::string& name) const = 0;
};

/// The remote files of one kind of names (formats/base/files/scheme.hpp).
/// Threads: const methods may be called by many threads at once.
class Storage {
 public:
  virtual ~Storage() = default;
  virtual std::shared_ptr<const RemoteFile> open(const std::string& name) const = 0;
  virtual bool exists(const std::string& name) const = 0;
  /// Throws `invalid_argument` if the name is malformed.
  virtual void check(const std::string& name) const = 0;
  /// The name of a file whose path from `directory` is `file`, raw bytes.
  virtual std::string join(const std::string& directory, std::string_view file) const = 0;
  /// The names of the files directly in a directory, sorted. Throws `unsupported` if the server has no listings.
  virtual std::vector<std::string> list(const std::string& directory) const = 0;
  virtual const ContentCache& cache() const = 0;
};

/// The storage of a name; null if `name` is a local path.
const Storage* remote_storage_of(std::string_view name);

/// Where the query of a web page's name begins, which is the same for its neighbors (a container's SAS); the end of
/// other names.
std::size_t begin_of_query(std::string_view name);
/// The name of a file whose path from the directory is `file`, on a disk or a server.
std::string join_name(const std::string& directory, std::string_view file);
/// The name of a file next to another, with `suffix` at the end of its name.
std::string with_suffix(const std::string& name, std::string_view suffix);

/// What `read` returns, which reads the file `name`. If that is `damaged` and the file is remote, it is fetched and
/// read again: perhaps it was damaged on its way, or in the cache.
template <typename Read>
auto read_twice_if_damaged(const std::string& name, Read read) {
  if (const Storage* const storage = remote_storage_of(name)) {
    try {
      return read();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::damaged) throw;
      storage->cache().forget(name);
    }
  }
  return read();
}

/// Ends all reads of remote files in this process that wait for a server: they throw `interrupted`. Safe in a signal
/// handler.
void interrupt_remote_reads();

/// While it lives, reads of remote files by this thread call `poll` several times per second for as long as they wait
/// for a server. What it throws ends the read. One that is made later takes the place of one that was made before.
/// Threads: lives and dies in one thread.
class RemoteWaitPoll {
 public:
  explicit RemoteWaitPoll(std::function<void()> poll);
  ~RemoteWaitPoll();
  RemoteWaitPoll(const RemoteWaitPoll&) = delete;
  RemoteWaitPoll& operator=(const RemoteWaitPoll&) = delete;

 private:
  friend void poll_remote_wait();
  const std::function<void()> poll_;
  const RemoteWaitPoll* const before_;
};

/// While it lives, `note` is called for every request of this thread that failed and is made again after a pause: with
/// the error, which names the file. It must not throw. One that is made later takes the place of one that was made
/// before. Threads: lives and dies in one thread.
class RemoteRetryNotes {
 public:
  explicit RemoteRetryNotes(std::function<void(const Error& error)> note);
  ~RemoteRetryNotes();
  RemoteRetryNotes(const RemoteRetryNotes&) = delete;
  RemoteRetryNotes& operator=(const RemoteRetryNotes&) = delete;

 private:
  friend void note_remote_retry(const Error& error);
  const std::function<void(const Error& error)> note_;
  const RemoteRetryNotes* const before_;
};
/// Calls this thread's RemoteRetryNotes, if there is one.
void note_remote_retry(const Error& error);

/// While it lives, remote files that this thread opens belong to the content with this digest, which a manifest that
/// was just read names. A file that is in the cache as a whole, and was in the same version when the manifest named the
/// same content, is then not asked for again. One that is made later takes the place of one that was made before.
/// Threads: lives and dies in one thread.
class PinnedContent {
 public:
  explicit PinnedContent(std::string digest);
  ~PinnedContent();
  PinnedContent(const PinnedContent&) = delete;
  PinnedContent& operator=(const PinnedContent&) = delete;

  /// The digest of this thread; empty if there is none.
  static std::string_view current();

 private:
  const std::string digest_;
  const PinnedContent* const before_;
};

/// While one lives, this process asks servers whether files are still what the cache knows of them, by one conditional
/// request per file that it has not asked for before. Else what was asked within a minute is believed, and what a
/// manifest pins. Threads: any number.
class FreshVersions {
 public:
  FreshVersions();
  ~FreshVersions();
  FreshVersions(const FreshVersions&) = delete;
  FreshVersions& operator=(const FreshVersions&) = delete;

  static bool are_wanted();
};

/// How often poll_remote_wait() is called.
inline constexpr std::chrono::milliseconds k_remote_poll_interval{100};
/// For a read that waits for a server. Throws `interrupted` after interrupt_remote_reads(), and what this thread's
/// RemoteWaitPoll throws.
void poll_remote_wait();

}  // namespace bale
