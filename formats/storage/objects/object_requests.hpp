// ObjectSender: signed requests for the objects below one s3:// name, made again until they succeed.
//
// Threads: const methods may be called by many threads at once. Errors: as ObjectStore says.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/storage/aws/answers/s3_answers.hpp"
#include "bale/formats/storage/aws/s3_location.hpp"
#include "bale/formats/storage/http/http_client.hpp"
#include "bale/formats/storage/location/remote_url.hpp"

namespace bale {

struct ObjectRequest {
  using Body = std::function<std::string()>;

  std::string method = "GET";
  std::string key{};    // below the name
  std::string query{};  // percent-encoded
  std::vector<std::pair<std::string, std::string>> headers{};
  Body body{};             // made for each try; none: no body
  bool of_bucket = false;  // not of an object
};

std::string encoded_query_value(std::string_view value);

class ObjectSender {
 public:
  ObjectSender(const std::string& name, std::function<void()> poll);

  std::string name_of(std::string_view key) const;
  /// Value of the header x-amz-copy-source: "/BUCKET/KEY", percent-encoded.
  std::string copy_source_of(std::string_view key) const;
  const std::string& bucket() const { return bucket_; }
  /// What all keys begin with: empty, or with a slash at the end.
  const std::string& prefix() const { return prefix_; }
  /// Throws what the caller's poll throws.
  void poll() const;

  /// Returns the answer, of a status of success or one of `others`.
  HttpResponse send(const ObjectRequest& request, std::initializer_list<long> others = {}) const;
  /// One try of at most about a second, also when the program was interrupted. Its failure is not reported.
  void send_briefly(const ObjectRequest& request) const noexcept;
  Error error_of(const std::string& key, const HttpResponse& response) const;

  /// Calls `take` for each object whose key begins with `key`; with `max_keys` not 0, for at most as many.
  void list(const std::string& key, int max_keys,
            const std::function<void(const S3Object&, std::string key)>& take) const;

 private:
  HttpRequest signed_request(const ObjectRequest& request) const;

  std::shared_ptr<const RemoteUrl> location_;
  std::string name_;
  std::string bucket_;
  std::string prefix_;
  std::function<void()> poll_;
};

}  // namespace bale
