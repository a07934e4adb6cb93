// The XML of S3: listings (ListObjectsV2), errors, and multipart uploads.
//
// Ownership: copies. Threads: plain functions. Errors: `damaged` for anything that is not a complete answer;
// parse_s3_error() never throws it.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/bytes.hpp"

namespace bale {

struct S3Object {
  std::string key{};  // raw bytes
  std::uint64_t size = 0;
  std::string etag{};        // with its quotes, as in the header; empty if the server has none
  std::time_t modified = 0;  // 0: the server does not say it
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

/// The number that the server gave the upload.
std::string parse_upload_id(Bytes xml);

struct UploadListing {
  struct Upload {
    std::string key{};  // raw bytes
    std::string id{};
  };
  std::vector<Upload> uploads{};
  std::string next_key{};  // of the next request, with next_id; both empty: this is the last part
  std::string next_id{};
};

UploadListing parse_upload_listing(Bytes xml);

/// The body of CompleteMultipartUpload. `etags` as the server sent them, of the parts 1, 2, ...
std::string completion_text(const std::vector<std::string>& etags);

/// Content-MD5: the MD5 digest in base64 (RFC 1864). Servers compare it with what they received.
std::string content_md5(std::string_view bytes);

}  // namespace bale
