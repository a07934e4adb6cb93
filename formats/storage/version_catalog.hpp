// VersionCatalog: which version of a remote file a name stands for. It is asked of the server once per process, or not
// at all of the node asked within the last minute, so that the workers of one run do not all ask. Of processes that
// come at the same time one asks, and the others wait.
//
// What the node asked after this process began to read is believed, too, however long ago that is: an epoch over many
// files takes longer than a minute. So is a file that a manifest pins (PinnedContent in base/storage.hpp) if the cache
// has all of it.
//
// While FreshVersions (base/storage.hpp) lives, only what this process asked is believed. What the cache has of the
// version that the server then confirms is read all the same.
//
// That the seek points of a shard are not there is known to the node for a minute, too: they are a hint, and each
// worker would ask for them.
//
// A file of which the server tells neither ETag nor time of change may be another one each time it is asked for. It is
// read from the cache only while the process that asked lives.
//
// Within a process a name keeps its version: a file that changes on the server is an error from then on, never a
// mixture. The memory for this is bounded (known_versions.hpp).
//
// Threads and processes: any number of them.
#pragma once

#include <condition_variable>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bale/formats/storage/cache/cache_directory.hpp"
#include "bale/formats/storage/cache/shared/file_lock.hpp"
#include "bale/formats/storage/location/remote_url.hpp"
#include "bale/formats/storage/ranges/known_versions.hpp"
#include "bale/formats/storage/ranges/range_body.hpp"
#include "bale/formats/storage/ranges/unsized_body.hpp"

namespace bale {

class VersionCatalog {
 public:
  /// `cache` may be null.
  explicit VersionCatalog(std::shared_ptr<CacheDirectory> cache);

  /// While it lives, other threads of this process that look up the name wait, as other processes do for the UrlLock.
  class Turn {
   public:
    Turn() = default;
    Turn(VersionCatalog& catalog, std::string identity) : catalog_(&catalog), identity_(std::move(identity)) {}
    Turn(Turn&& other) noexcept
        : catalog_(std::exchange(other.catalog_, nullptr)), identity_(std::move(other.identity_)) {}
    Turn& operator=(Turn&& other) noexcept;
    ~Turn();

   private:
    VersionCatalog* catalog_ = nullptr;
    std::string identity_{};
  };

  struct Answer {
    FileVersion version;
    std::vector<std::byte> head{};        // first bytes of the file, if the server was asked
    std::shared_ptr<UnsizedBody> body{};  // all of the file, if its size had to be found out
    // Keep both until the head is in the cache, so that nobody else fetches it.
    UrlLock asking{};
    Turn turn{};
  };
  /// Throws `not_found`, `io`, `retryable`, and `unsupported` if the server does not tell the size.
  Answer look_up(const RemoteUrl& location);
  /// The same, or nullopt if the server does not have the file. A file that it does not let us read counts as missing.
  std::optional<Answer> find(const RemoteUrl& location);

  /// Forgets which version the file has, so that the next look_up() asks the server.
  void refresh(const RemoteUrl& location);

  /// The name of a version's content in the cache.
  static std::string content_identity(const RemoteUrl& location, const FileVersion& version);

 private:
  struct KnownVersion {
    FileVersion version;
    std::string pin{};       // digest of the content that it belonged to when the server was asked
    bool is_recent = false;  // believed
  };
  std::optional<FileVersion> known_or_turn(const std::string& identity, Turn& turn);
  std::optional<KnownVersion> recorded(const RemoteUrl& location);
  bool is_believed(const RemoteUrl& location, const KnownVersion& known, std::time_t asked_at);
  bool is_whole(const RemoteUrl& location, const FileVersion& version) const;
  void record(const RemoteUrl& location, const FileVersion& version, const std::string& pin) const;
  static std::string pin_of(const FileVersion& version, const std::optional<KnownVersion>& known);
  bool is_recorded_as_missing(const RemoteUrl& location) const;
  void record_missing(const RemoteUrl& location) const;
  Answer ask_or_record_missing(const RemoteUrl& location, const std::optional<KnownVersion>& known) const;
  Answer ask_or_believe(const RemoteUrl& location, const std::optional<KnownVersion>& known);
  std::uint64_t most_unsized_bytes(const RemoteUrl& location) const;
  Answer ask(const RemoteUrl& location, const std::optional<KnownVersion>& known) const;

  const std::shared_ptr<CacheDirectory> cache_;
  const std::time_t since_;
  std::mutex mutex_;
  KnownVersions versions_;        // of this process
  std::set<std::string> asking_;  // identities that have a Turn
  std::condition_variable turn_ended_;
  std::set<std::string> unreachable_;  // servers, as RemoteUrl::server() names them
  std::set<std::string> missing_;      // identities, at most k_max_missing
};

}  // namespace bale
