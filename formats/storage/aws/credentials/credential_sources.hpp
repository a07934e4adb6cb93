// The sources of AWS credentials. Each returns nullopt if it is not configured.
//
// Algorithms: the SDKs' "Standardized credential providers" (AWS SDKs and Tools Reference Guide).
// Threads: plain functions.
// Errors: as CredentialProvider.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/storage/aws/context/aws_context.hpp"
#include "bale/formats/storage/aws/credentials/credentials.hpp"
#include "bale/formats/storage/aws/credentials/profile.hpp"

namespace bale {

/// The first that is configured of: environment, web identity, profile, container, instance metadata. nullopt:
/// anonymous, which AWS_NO_SIGN_REQUEST requests.
std::optional<Credentials> find_credentials(const AwsContext& context);

/// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN.
std::optional<Credentials> environment_credentials(const AwsContext& context);
/// Static keys, credential_process, or role_arn with web_identity_token_file.
std::optional<Credentials> profile_credentials(const AwsContext& context, const Profile& profile);

struct WebIdentity {
  std::string token_file{};
  std::string role{};
  std::string session_name{};
};
/// AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN, AWS_ROLE_SESSION_NAME: STS AssumeRoleWithWebIdentity.
std::optional<Credentials> web_identity_credentials(const AwsContext& context, const Profile& profile);
Credentials assume_role(const AwsContext& context, const Profile& profile, const WebIdentity& identity);

/// AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE or _TOKEN.
std::optional<Credentials> container_credentials(const AwsContext& context);
/// The role of an EC2 instance, by IMDSv2. Outside of EC2 it waits for 2 seconds at most.
std::optional<Credentials> instance_credentials(const AwsContext& context);

/// Reads {"AccessKeyId", "SecretAccessKey", TOKEN_NAME, "Expiration"}. Throws `code`, naming the source, for anything
/// else.
Credentials credentials_from_json(std::string_view text, const char* token_name, const std::string& source,
                                  ErrorCode code);

/// How often a source asks its server, and how long it waits for an answer.
struct FetchLimits {
  int num_attempts = 3;
  std::chrono::milliseconds timeout{2'000};
  std::chrono::milliseconds pause{500};  // before the second attempt; twice as long before each other
};
/// Carries out a request of a source: not redirected, with a small answer. Tries again after 429, 5xx and failed
/// connections. Throws `retryable`, naming the source, if the last attempt failed like that.
HttpResponse fetch_from(const AwsContext& context, HttpRequest request, const std::string& source,
                        const FetchLimits& limits);

/// An error of a source: "AWS credentials from SOURCE: PROBLEM; HINT".
Error source_error(ErrorCode code, const std::string& source, std::string_view problem, std::string hint);

// Runs the command of a profile's credential_process and returns what it prints.
//
// The command is split like a shell does, with quotes and backslashes, and run without a shell. Its standard input is
// empty; its standard error is this process's. Threads: any number may call. Errors: `invalid_argument` if it cannot be
// started, fails, prints too much or does not end in time. Neither its arguments nor its output are part of the
// message.

std::string output_of_command(const std::string& command, std::chrono::milliseconds time_limit);

/// The words of a command. Throws `invalid_argument` if a quote is not closed or there is no word.
std::vector<std::string> split_command(std::string_view command);

}  // namespace bale
