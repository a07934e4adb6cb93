#include "bale/formats/storage/aws/credentials/credential_sources.hpp"

#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_largest_answer = std::uint64_t{1} << 20;
constexpr std::chrono::seconds k_process_time_limit{60};

Credentials process_credentials(const std::string& command) {
  const std::string source = "credential_process";
  const std::string output = output_of_command(command, k_process_time_limit);
  return credentials_from_json(output, "SessionToken", source, ErrorCode::invalid_argument);
}

Error unsupported_profile(const Profile& profile, std::string_view what) {
  const std::string name = printable(profile.name);
  return source_error(ErrorCode::invalid_argument, fmt::format("profile \"{}\"", name),
                      fmt::format("bale does not support {}", what),
                      fmt::format("set credential_process = aws configure export-credentials --profile {} --format "
                                  "process in the profile, or AWS_NO_SIGN_REQUEST=yes for public data",
                                  name));
}

}  // namespace

std::optional<Credentials> find_credentials(const AwsContext& context) {
  if (context.is_on("AWS_NO_SIGN_REQUEST")) return std::nullopt;
  if (auto found = environment_credentials(context)) return found;
  const Profile profile = load_profile(context);
  if (auto found = web_identity_credentials(context, profile)) return found;
  if (auto found = profile_credentials(context, profile)) return found;
  if (auto found = container_credentials(context)) return found;
  return instance_credentials(context);
}

std::optional<Credentials> environment_credentials(const AwsContext& context) {
  const std::optional<std::string> id = context.setting("AWS_ACCESS_KEY_ID");
  const std::optional<std::string> secret = context.setting("AWS_SECRET_ACCESS_KEY");
  if (!id && !secret) return std::nullopt;
  if (!id || !secret) {
    throw source_error(ErrorCode::invalid_argument, "the environment",
                       fmt::format("{} is not set", id ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID"),
                       "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or neither");
  }
  return Credentials{.access_key_id = *id,
                     .secret_access_key = *secret,
                     .session_token = context.setting("AWS_SESSION_TOKEN").value_or("")};
}

std::optional<Credentials> profile_credentials(const AwsContext& context, const Profile& profile) {
  const auto role = profile.setting("role_arn");
  const auto token_file = profile.setting("web_identity_token_file");
  const auto command = profile.setting("credential_process");
  if (role && token_file) {
    return assume_role(
        context, profile,
        {.token_file = *token_file, .role = *role, .session_name = profile.setting("role_session_name").value_or("")});
  }
  const auto id = profile.setting("aws_access_key_id");
  const auto secret = profile.setting("aws_secret_access_key");
  // With role_arn the keys are those of another identity.
  if (!role && (id || secret)) {
    if (!id || !secret) {
      throw source_error(ErrorCode::invalid_argument, fmt::format("profile \"{}\"", printable(profile.name)),
                         fmt::format("{} is not set", id ? "aws_secret_access_key" : "aws_access_key_id"),
                         "set both in the profile");
    }
    return Credentials{.access_key_id = *id,
                       .secret_access_key = *secret,
                       .session_token = profile.setting("aws_session_token").value_or("")};
  }
  if (command) return process_credentials(*command);
  if (role) throw unsupported_profile(profile, "role_arn with source_profile or credential_source");
  if (profile.setting("sso_session") || profile.setting("sso_start_url")) throw unsupported_profile(profile, "sso");
  return std::nullopt;
}

Credentials credentials_from_json(std::string_view text, const char* token_name, const std::string& source,
                                  ErrorCode code) {
  try {
    const Json object = parse_json(text);
    Credentials found{.access_key_id = object.text("AccessKeyId"),
                      .secret_access_key = object.text("SecretAccessKey"),
                      .session_token = object.text_or_empty(token_name)};
    const std::string expiration = object.text_or_empty("Expiration");
    if (!expiration.empty()) {
      found.expiration = parse_utc_time(expiration);
      if (!found.expiration) throw Error(ErrorCode::damaged, "Expiration is not a time");
    }
    if (found.access_key_id.empty() || found.secret_access_key.empty()) {
      throw Error(ErrorCode::damaged, "AccessKeyId or SecretAccessKey is empty");
    }
    return found;
  } catch (const Error& error) {
    throw source_error(code, source, fmt::format("the answer is unusable: {}", error.message()), "check the source");
  }
}

HttpResponse fetch_from(const AwsContext& context, HttpRequest request, const std::string& source,
                        const FetchLimits& limits) {
  request.max_body_bytes = k_largest_answer;
  request.follow_redirects = false;
  request.connect_timeout = limits.timeout;
  request.stall_timeout = limits.timeout;
  request.total_timeout = limits.timeout;
  std::string problem;
  std::chrono::milliseconds pause = limits.pause;
  for (int attempt = 0; attempt < limits.num_attempts; ++attempt) {
    if (attempt > 0) {
      context.pause(pause);
      pause *= 2;
    }
    try {
      HttpResponse response = context.perform(request);
      if (response.status != 429 && response.status < 500) return response;
      problem = fmt::format("the server answered {}", response.status);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::unsupported) throw;  // a library is missing
      if (error.code() != ErrorCode::retryable) {
        throw source_error(ErrorCode::invalid_argument, source, error.message(), "check its URL");
      }
      problem = error.message();
    }
  }
  throw source_error(ErrorCode::retryable, source, problem, "check that the server can be reached");
}

Error source_error(ErrorCode code, const std::string& source, std::string_view problem, std::string hint) {
  return Error(code, fmt::format("AWS credentials from {}: {}", source, problem), {.hint = std::move(hint)});
}

}  // namespace bale
