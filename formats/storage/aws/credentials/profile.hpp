// Profile: the settings of one profile in the shared files of the AWS command line, ~/.aws/config and
// ~/.aws/credentials.
//
// Format: the AWS SDKs and Tools Reference Guide, "Shared config and credentials files". Those two files are also found
// by AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE, the profile by AWS_PROFILE. What both files set is taken from the
// credentials file. A file that does not exist is empty.
// Ownership: copies.
// Threads: plain values.
// Errors: `invalid_argument` if a file cannot be read or understood (with its path and line, never its text), or if the
// profile of AWS_PROFILE does not exist.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "bale/formats/storage/aws/context/aws_context.hpp"
#include "bale/formats/storage/http/http_client.hpp"

namespace bale {

struct Profile {
  std::string name{};
  /// By name in lower case. Nested ones are "s3.addressing_style"; those of its services section
  /// "services.s3.endpoint_url".
  std::map<std::string, std::string> settings{};

  /// nullopt if it is not set or empty.
  std::optional<std::string> setting(const std::string& setting_name) const;
};

/// The profile of AWS_PROFILE, or "default", which may not exist.
Profile load_profile(const AwsContext& context);

/// The endpoint of a service ("s3", "sts") by the rules of the SDKs: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the
/// profile's services section, its endpoint_url. nullopt: AWS's own.
std::optional<std::string> configured_endpoint(const AwsContext& context, const Profile& profile,
                                               const std::string& service);

/// AWS_REGION, AWS_DEFAULT_REGION or the profile's region.
std::optional<std::string> configured_region(const AwsContext& context, const Profile& profile);

/// AWS_CA_BUNDLE or the profile's ca_bundle; empty if there is neither.
Certificates configured_certificates(const AwsContext& context, const Profile& profile);

/// A file named in the environment or in a profile: "~/" at its start is the home directory.
std::string expand_home(const AwsContext& context, const std::string& path);

/// The content of a small file of the configuration. Throws `invalid_argument` that names `what` and the path.
std::string read_configuration(const std::string& path, const std::string& what);

}  // namespace bale
