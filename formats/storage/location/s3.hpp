// s3://BUCKET/KEY: files of S3 and of other servers that speak its language (aws/).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "bale/formats/storage/location/location.hpp"

namespace bale {

inline constexpr std::string_view k_s3_scheme = "s3://";

/// Settings and credentials are those of the environment when the process first asks for any. Throws `invalid_argument`
/// for a malformed name or configuration.
std::shared_ptr<const Location> locate_s3(const std::string& name);

}  // namespace bale
