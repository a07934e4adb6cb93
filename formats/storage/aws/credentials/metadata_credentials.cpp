// Credentials from the metadata servers of containers (ECS, EKS Pod Identity) and of EC2 instances (IMDSv2).
#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/names/uri_encoding.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/storage/aws/credentials/credential_sources.hpp"

namespace bale {
namespace {

constexpr FetchLimits k_container_limits{.num_attempts = 3, .timeout = std::chrono::seconds{2}};
// Few and short: most machines that ask are not in EC2.
constexpr FetchLimits k_instance_probe{
    .num_attempts = 2, .timeout = std::chrono::seconds{1}, .pause = std::chrono::milliseconds{0}};
constexpr FetchLimits k_instance_limits{.num_attempts = 3, .timeout = std::chrono::seconds{2}};

constexpr const char* k_container = "the container";
constexpr const char* k_instance = "the EC2 instance metadata";
constexpr std::string_view k_roles_path = "/latest/meta-data/iam/security-credentials/";

/// Whether `host` is 127.0.0.0/8 in four decimal numbers.
bool is_loopback_address(std::string_view host) {
  return host.starts_with("127.") && std::count(host.begin(), host.end(), '.') == 3 &&
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

/// Without TLS, only this machine and the fixed addresses of ECS and EKS may receive the authorization token.
void check_container_url(const std::string& url) {
  const UrlParts parts = split_url(url);
  if (parts.scheme == "https") return;
  const std::string_view host = host_of(parts.authority);
  const bool is_known = host == "localhost" || host == "[::1]" || host == "169.254.170.2" || host == "169.254.170.23" ||
                        host == "[fd00:ec2::23]" || is_loopback_address(host);
  if (parts.scheme == "http" && is_known) return;
  throw source_error(ErrorCode::invalid_argument, k_container,
                     fmt::format("AWS_CONTAINER_CREDENTIALS_FULL_URI has the host {}", printable(host)),
                     "use https, or a loopback, ECS or EKS address");
}

std::optional<std::string> container_url(const AwsContext& context) {
  if (const auto path = context.setting("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")) {
    return fmt::format("http://169.254.170.2{}{}", path->starts_with('/') ? "" : "/", *path);
  }
  const auto url = context.setting("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (url) check_container_url(*url);
  return url;
}

std::optional<std::string> container_token(const AwsContext& context) {
  std::optional<std::string> token;
  if (const auto path = context.setting("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")) {
    token = read_configuration(*path, "the container's authorization token");
    while (!token->empty() && (token->back() == '\n' || token->back() == '\r')) token->pop_back();
  } else {
    token = context.setting("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  }
  if (token && token->find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
    throw source_error(ErrorCode::invalid_argument, k_container, "the authorization token has more than one line",
                       "check AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE or AWS_CONTAINER_AUTHORIZATION_TOKEN");
  }
  return token;
}

std::string instance_endpoint(const AwsContext& context) {
  std::string endpoint = context.setting("AWS_EC2_METADATA_SERVICE_ENDPOINT").value_or("");
  const std::string mode = lower_case(context.setting("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE").value_or("ipv4"));
  if (endpoint.empty()) endpoint = mode == "ipv6" ? "http://[fd00:ec2::254]" : "http://169.254.169.254";
  while (endpoint.ends_with('/')) endpoint.pop_back();
  return endpoint;
}

/// The token of an IMDSv2 session. nullopt if nothing answers: the machine is not in EC2.
std::optional<std::string> instance_token(const AwsContext& context, const std::string& endpoint) {
  HttpRequest request{.method = "PUT", .url = endpoint + "/latest/api/token"};
  request.headers = {{"x-aws-ec2-metadata-token-ttl-seconds", "21600"}};
  try {
    const HttpResponse response = fetch_from(context, request, k_instance, k_instance_probe);
    if (response.status != 200 || response.body.empty()) return std::nullopt;
    std::string token(as_text(response.body));
    if (token.find_first_of("\r\n") != std::string::npos) return std::nullopt;  // not a metadata server
    return token;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::retryable) throw;
    return std::nullopt;
  }
}

/// nullopt for 404: there is none.
std::optional<std::string> get_metadata(const AwsContext& context, const std::string& url, const std::string& token) {
  HttpRequest request{.url = url};
  request.headers = {{"x-aws-ec2-metadata-token", token}};
  const HttpResponse response = fetch_from(context, request, k_instance, k_instance_limits);
  if (response.status == 404) return std::nullopt;
  if (response.status != 200) {
    throw source_error(ErrorCode::retryable, k_instance, fmt::format("the server answered {}", response.status),
                       "check the instance's metadata options, or set AWS_EC2_METADATA_DISABLED=true");
  }
  return std::string(as_text(response.body));
}

}  // namespace

std::optional<Credentials> container_credentials(const AwsContext& context) {
  const std::optional<std::string> url = container_url(context);
  if (!url) return std::nullopt;
  HttpRequest request{.url = *url};
  request.headers = {{"Accept", "application/json"}};
  if (const auto token = container_token(context)) request.headers.emplace_back("Authorization", *token);
  const HttpResponse response = fetch_from(context, request, k_container, k_container_limits);
  if (response.status != 200) {
    throw source_error(ErrorCode::invalid_argument, k_container, fmt::format("the server answered {}", response.status),
                       "check the role of the task or pod");
  }
  return credentials_from_json(as_text(response.body), "Token", k_container, ErrorCode::retryable);
}

std::optional<Credentials> instance_credentials(const AwsContext& context) {
  if (context.is_on("AWS_EC2_METADATA_DISABLED")) return std::nullopt;
  const std::string endpoint = instance_endpoint(context);
  const std::optional<std::string> token = instance_token(context, endpoint);
  if (!token) return std::nullopt;
  const std::string roles_url = endpoint + std::string(k_roles_path);
  const std::string roles = get_metadata(context, roles_url, *token).value_or("");
  const std::string role = roles.substr(0, roles.find_first_of("\r\n"));
  if (role.empty()) return std::nullopt;  // an instance without a role
  const std::optional<std::string> answer = get_metadata(context, roles_url + percent_encode(role, false), *token);
  if (!answer) return std::nullopt;
  return credentials_from_json(*answer, "Token", k_instance, ErrorCode::retryable);
}

}  // namespace bale
