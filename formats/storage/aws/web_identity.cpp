// STS AssumeRoleWithWebIdentity: how pods of Kubernetes and jobs of CI systems get credentials. The request is not
// signed.
#include <pugixml.hpp>

#include <fmt/format.h>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/names/uri_encoding.hpp"
#include "bale/formats/base/text/escaped_bytes.hpp"
#include "bale/formats/storage/aws/credentials/credential_sources.hpp"
#include "bale/formats/storage/aws/s3_location.hpp"

namespace bale {
namespace {

constexpr FetchLimits k_limits{.num_attempts = 3, .timeout = std::chrono::seconds{10}};
constexpr std::size_t k_shown_problem = 300;

std::string source_name(const WebIdentity& identity) {
  return fmt::format("web identity ({})", printable(identity.role));
}

std::string without_newlines_at_end(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  return text;
}

std::string sts_url(const AwsContext& context, const Profile& profile) {
  if (const auto endpoint = configured_endpoint(context, profile, "sts")) {
    return endpoint->ends_with('/') ? *endpoint : *endpoint + "/";
  }
  const std::optional<std::string> region = configured_region(context, profile);
  if (!region) return "https://sts.amazonaws.com/";
  return fmt::format("https://sts.{}.{}/", checked_region(*region), dns_suffix_of(*region));
}

HttpRequest sts_request(const AwsContext& context, const Profile& profile, const WebIdentity& identity) {
  HttpRequest request{
      .method = "POST", .url = sts_url(context, profile), .certificates = configured_certificates(context, profile)};
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"}};
  const std::string token =
      without_newlines_at_end(read_configuration(expand_home(context, identity.token_file), "the web identity token"));
  std::string session = identity.session_name;
  if (session.empty()) session = "bale-" + compact_utc_time(context.now());
  request.body = fmt::format(
      "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn={}&RoleSessionName={}&WebIdentityToken={}",
      percent_encode(identity.role, false), percent_encode(session, false), percent_encode(token, false));
  return request;
}

/// The code and message of STS's error answer. The message describes the token, but does not hold it.
std::string problem_of(const HttpResponse& response) {
  pugi::xml_document document;
  document.load_buffer(response.body.data(), response.body.size());
  const pugi::xml_node error = document.child("ErrorResponse").child("Error");
  const std::string text = fmt::format("{}: {}", error.child_value("Code"), error.child_value("Message"));
  return fmt::format("STS answered {} ({})", response.status, excerpt(printable(text), k_shown_problem));
}

Credentials parse_answer(const HttpResponse& response, const WebIdentity& identity) {
  pugi::xml_document document;
  document.load_buffer(response.body.data(), response.body.size());
  const pugi::xml_node node =
      document.child("AssumeRoleWithWebIdentityResponse").child("AssumeRoleWithWebIdentityResult").child("Credentials");
  Credentials found{.access_key_id = node.child_value("AccessKeyId"),
                    .secret_access_key = node.child_value("SecretAccessKey"),
                    .session_token = node.child_value("SessionToken"),
                    .expiration = parse_utc_time(node.child_value("Expiration"))};
  if (found.access_key_id.empty() || found.secret_access_key.empty() || !found.expiration) {
    throw source_error(ErrorCode::retryable, source_name(identity), "STS's answer has no credentials",
                       "check AWS_ENDPOINT_URL_STS");
  }
  return found;
}

}  // namespace

std::optional<Credentials> web_identity_credentials(const AwsContext& context, const Profile& profile) {
  const std::optional<std::string> token_file = context.setting("AWS_WEB_IDENTITY_TOKEN_FILE");
  if (!token_file) return std::nullopt;
  const std::optional<std::string> role = context.setting("AWS_ROLE_ARN");
  if (!role) {
    throw source_error(ErrorCode::invalid_argument, "web identity", "AWS_ROLE_ARN is not set",
                       "set AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, or neither");
  }
  return assume_role(context, profile,
                     {.token_file = *token_file,
                      .role = *role,
                      .session_name = context.setting("AWS_ROLE_SESSION_NAME").value_or("")});
}

Credentials assume_role(const AwsContext& context, const Profile& profile, const WebIdentity& identity) {
  const HttpResponse response =
      fetch_from(context, sts_request(context, profile, identity), source_name(identity), k_limits);
  if (response.status == 200) return parse_answer(response, identity);
  const std::string problem = problem_of(response);
  const bool may_pass = problem.find("IDPCommunicationError") != std::string::npos;
  throw source_error(may_pass ? ErrorCode::retryable : ErrorCode::invalid_argument, source_name(identity), problem,
                     "check the role's trust policy and the token file");
}

}  // namespace bale
