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
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/bytes.hpp"

namespace bale {

/// Whether a name is one that ObjectStore can write to.
bool is_object_store(std::string_view name);

struct StoredObject {
  std::string key{};  // below the store's name
  std::uint64_t size = 0;
  std::string etag{};  // without quotes; empty if the server has none

  friend bool operator==(const StoredObject&, const StoredObject&) = default;
};

/// A multipart upload that was neither completed nor aborted.
struct UnfinishedUpload {
  std::string key{};  // below the store's name
  std::string id{};
};

class ObjectStore {
 public:
  /// `name` is s3://BUCKET or s3://BUCKET/PREFIX. Makes no request.
  explicit ObjectStore(const std::string& name, std::function<void()> poll = {});
  ~ObjectStore();
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;

  /// The name of an object for messages, and for readers.
  std::string name_of(std::string_view key) const;

  /// All objects below the name, in the server's order.
  std::vector<StoredObject> list() const;
  /// One object as a listing has it; nullopt if there is none.
  std::optional<StoredObject> find(const std::string& key) const;
  /// The content of a small object; nullopt if there is none.
  std::optional<std::vector<std::byte>> read(const std::string& key) const;

  /// Stores a local file and returns what the server has then. An upload that fails is aborted.
  StoredObject upload(const std::string& key, const std::string& path) const;
  void put(const std::string& key, Bytes content) const;
  /// Stores it unless there is an object of this name: then returns false, also if an earlier try of this call stored
  /// it. Atomic if the server has conditional writes (If-None-Match); others are asked first.
  bool put_if_absent(const std::string& key, Bytes content) const;
  /// No error if there is none.
  void remove(const std::string& key) const;

  /// Empty if the server does not list them.
  std::vector<UnfinishedUpload> unfinished_uploads() const;
  /// No error if it has ended.
  void abort(const UnfinishedUpload& upload) const;

 private:
  class Requests;
  std::unique_ptr<const Requests> requests_;
};

}  // namespace bale
