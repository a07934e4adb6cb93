// AWS Signature Version 4 of HTTP requests.
//
// Algorithm: "Signature Version 4" in the AWS IAM user guide, and its variant for S3: the path is encoded once, is not
// normalized, and x-amz-content-sha256 is always sent. What is signed is the URL as it stands in the request, so URLs
// are percent-encoded before; names and values of the query may have any order. Ownership: nothing is kept. Threads:
// plain functions. Errors: `invalid_argument` for a URL without scheme or host.
#pragma once

#include <string>
#include <string_view>

#include "bale/formats/storage/aws/context/aws_context.hpp"
#include "bale/formats/storage/aws/credentials/credentials.hpp"
#include "bale/formats/storage/http/http_client.hpp"

namespace bale {

/// The payload hash of a request without a body.
inline constexpr std::string_view k_empty_payload = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// What a signature is valid for.
struct SigningScope {
  std::string region{};
  std::string service = "s3";
  UtcTime time{};
};

/// The lower-case hex digest of SHA-256: the payload hash of a body.
std::string sha256_hex(std::string_view bytes);

/// Adds the headers x-amz-date, x-amz-content-sha256 (S3 only), x-amz-security-token (if there is a token) and
/// Authorization. Those of an earlier signature are replaced, so a request may be signed again. All other headers are
/// signed, except those that proxies change.
void sign_request(HttpRequest& request, const Credentials& credentials, const SigningScope& scope,
                  std::string_view payload_hash);

}  // namespace bale
