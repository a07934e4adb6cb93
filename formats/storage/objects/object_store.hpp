// ObjectStore: writes and removes the objects below one s3:// name.
//
// An upload is complete or not there: a small file is one request, a larger one a multipart upload. The server compares
// each request with its Content-MD5 and, if there are credentials, with the SHA-256 that is signed. Requests that fail
// are made again as those for reading are (retry.hpp). Nothing here is cached.
//
// Ownership: the object owns what it is given. Threads: const methods may be called by many threads at once; their
// waits call `poll`, also on other threads. Errors: `retryable` if the server or the network failed for longer than the
// time limit, `io`, `invalid_argument` for a malformed name or setting, and what `poll` throws. They name the object.
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/files/scheme.hpp"

namespace bale {

/// Whether a name is one that ObjectStore can write to.
inline bool is_object_store(std::string_view name) {
  const Scheme* const scheme = remote_scheme_of(name);
  return scheme != nullptr && scheme->can_write();
}

struct StoredObject {
  std::string key{};  // below the store's name
  std::uint64_t size = 0;
  std::string etag{};  // without quotes; empty if the server has none
  std::time_t modified = 0;

  /// Whether they have the same content.
  friend bool operator==(const StoredObject& a, const StoredObject& b) {
    return a.key == b.key && a.size == b.size && a.etag == b.etag;
  }
};

inline constexpr std::uint64_t k_most_copied_bytes = std::uint64_t{5} << 30;  // by one request, in S3

struct ObjectContent {
  std::vector<std::byte> bytes{};
  std::string etag{};  // as StoredObject::etag
};

/// A multipart upload that was neither completed nor aborted.
struct UnfinishedUpload {
  std::string key{};  // below the store's name
  std::string id{};
};

/// Whether the bucket of this name has put a delete marker in place of an object that this process removed: it is
/// versioned, and older versions of the object stay. Safe in any thread.
bool keeps_removed_objects(const std::string& name);

class ObjectStore {
 public:
  /// `name` is s3://BUCKET or s3://BUCKET/PREFIX. Makes no request. Throws `unsupported` in a build without
  /// BALE_REMOTE.
  static std::unique_ptr<const ObjectStore> open(const std::string& name, std::function<void()> poll = {});
  ObjectStore() = default;
  virtual ~ObjectStore() = default;
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;

  /// The name of an object for messages, and for readers.
  virtual std::string name_of(std::string_view key) const = 0;

  /// All objects below the name, in the server's order.
  virtual std::vector<StoredObject> list() const = 0;
  /// One object as a listing has it; nullopt if there is none.
  virtual std::optional<StoredObject> find(const std::string& key) const = 0;
  /// The content of a small object; nullopt if there is none.
  virtual std::optional<ObjectContent> read_with_etag(const std::string& key) const = 0;
  std::optional<std::vector<std::byte>> read(const std::string& key) const {
    std::optional<ObjectContent> content = read_with_etag(key);
    return content ? std::optional(std::move(content->bytes)) : std::nullopt;
  }

  /// Stores a local file and returns what the server has then. An upload that fails is aborted.
  virtual StoredObject upload(const std::string& key, const std::string& path) const = 0;
  virtual void put(const std::string& key, Bytes content) const = 0;
  /// Stores it unless there is an object of this name: then returns false, also if an earlier try of this call stored
  /// it. Atomic if the server has conditional writes (If-None-Match); others are asked first.
  virtual bool put_if_absent(const std::string& key, Bytes content) const = 0;
  /// Stores it if the object still has the ETag that read_with_etag() gave: else returns false, also if an earlier try
  /// of this call stored it. Atomic if the server has conditional writes (If-Match); others are asked first.
  virtual bool replace(const std::string& key, const std::string& etag, Bytes content) const = 0;
  /// Copies an object within the store, on the server. Returns false if there is none. At most k_most_copied_bytes.
  virtual bool copy(const std::string& from, const std::string& to) const = 0;
  /// No error if there is none. See keeps_removed_objects().
  virtual void remove(const std::string& key) const = 0;

  /// Empty if the server does not list them.
  virtual std::vector<UnfinishedUpload> unfinished_uploads() const = 0;
  /// No error if it has ended.
  virtual void abort(const UnfinishedUpload& upload) const = 0;
};

}  // namespace bale
