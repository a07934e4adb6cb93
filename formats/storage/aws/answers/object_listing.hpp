// The XML answers of S3: listings (ListObjectsV2) and errors.
//
// Ownership: copies.
// Threads: plain functions.
// Errors: parse_object_listing() throws `damaged` for anything that is not a complete listing; parse_s3_error() never
// does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/formats/base/bytes.hpp"

namespace bale {

struct S3Object {
  std::string key{};  // raw bytes
  std::uint64_t size = 0;
  std::string etag{};  // with its quotes, as in the header; empty if the server has none
};

struct S3Listing {
  std::vector<S3Object> objects{};
  std::vector<std::string> common_prefixes{};  // with the delimiter at the end, if one was requested
  std::string continuation_token{};            // of the next request; empty: this is the last part

  /// Of an object, or else of a common prefix; empty if there is neither.
  std::string first_name() const {
    if (!objects.empty()) return objects.front().key;
    return common_prefixes.empty() ? std::string() : common_prefixes.front();
  }
};

S3Listing parse_object_listing(Bytes xml);

struct S3ErrorAnswer {
  std::string code{};     // such as "NoSuchKey"; empty if the answer is not an error of S3
  std::string message{};  // printable and short
  std::string region{};   // of the bucket, if the request went to another
};

S3ErrorAnswer parse_s3_error(Bytes body);

}  // namespace bale
