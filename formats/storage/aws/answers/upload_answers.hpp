// The XML of S3's multipart uploads: what the server answers, and what completes an upload.
//
// Ownership: copies. Threads: plain functions.
// Errors: `damaged` for anything that is not a complete answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/bytes.hpp"

namespace bale {

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
