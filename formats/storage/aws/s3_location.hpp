// Where objects of S3 are: settings of the server, s3:// URLs, and the requests for objects and listings.
//
// Keys are bytes in no particular encoding; in an s3:// URL they stand as they are, without percent-encoding. In
// requests, dots and empty parts of a key ("a/../b", "a//b") are kept, so the HTTP client must not normalize paths.
// Ownership: plain values.
// Threads: plain functions.
// Errors: `invalid_argument` for a malformed URL or setting.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bale/formats/base/file_range.hpp"
#include "bale/formats/storage/aws/context/aws_context.hpp"
#include "bale/formats/storage/aws/credentials/credentials.hpp"
#include "bale/formats/storage/http/http_client.hpp"

namespace bale {

enum class S3Addressing : std::uint8_t {
  automatic,     // path if the endpoint is not AWS's own or the bucket's name does not fit into a host name
  path,          // https://HOST/BUCKET/KEY
  virtual_host,  // https://BUCKET.HOST/KEY
};

struct S3Settings {
  std::string region = "us-east-1";
  std::string endpoint{};  // SCHEME://HOST[:PORT][/PATH] without a slash at the end; empty: AWS's own of the region
  S3Addressing addressing = S3Addressing::automatic;
  bool requester_pays = false;
  Certificates certificates{};  // HttpRequest::certificates
};

/// From AWS_REGION, AWS_DEFAULT_REGION, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_S3_ADDRESSING_STYLE,
/// AWS_REQUEST_PAYER, AWS_CA_BUNDLE and the profile. Throws what load_profile() throws.
S3Settings read_s3_settings(const AwsContext& context);

struct S3Location {
  std::string bucket{};
  std::string key{};  // may be empty: the bucket

  friend bool operator==(const S3Location&, const S3Location&) = default;
};

/// Reads "s3://BUCKET/KEY".
S3Location parse_s3_url(std::string_view url);

struct S3ListQuery {
  std::string prefix{};
  std::string delimiter{};  // "/": one directory; empty: everything below
  std::string continuation_token{};
  int max_keys = 0;  // 0: the server's limit, 1000
};

std::string object_url(const S3Settings& settings, const S3Location& location);
/// Requests encoding-type=url, so that keys with any bytes survive the XML of the answer.
std::string list_objects_url(const S3Settings& settings, const std::string& bucket, const S3ListQuery& query);

struct S3GetOptions {
  std::optional<FileRange> range{};  // not empty
  std::string if_match{};            // an ETag as the server sent it; empty: none
  std::string if_none_match{};
};

/// Complete requests, signed for `now` if there are credentials. Redirects are not followed: a signature is valid for
/// one host, and S3 answers 301 or 307 with another.
HttpRequest get_object_request(const S3Settings& settings, const S3Location& location,
                               const std::optional<Credentials>& credentials, UtcTime now,
                               const S3GetOptions& options = {});
HttpRequest list_objects_request(const S3Settings& settings, const std::string& bucket, const S3ListQuery& query,
                                 const std::optional<Credentials>& credentials, UtcTime now);

/// The region, if it may be part of a host name.
const std::string& checked_region(const std::string& region);
/// The domain of AWS's services in a region, such as "amazonaws.com".
std::string_view dns_suffix_of(std::string_view region);

}  // namespace bale
