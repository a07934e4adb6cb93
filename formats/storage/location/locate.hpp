// How the schemes that bale brings find their files. Their table is formats/storage/schemes.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "bale/formats/storage/location/remote_url.hpp"
#include "bale/formats/storage/url_scheme.hpp"

namespace bale {

inline constexpr std::string_view k_s3_scheme = "s3://";

/// Each throws `invalid_argument` for a malformed name.
std::shared_ptr<const RemoteUrl> locate_http(const std::string& name);
/// Settings and credentials are those of the environment when the process first asks for any. Throws `invalid_argument`
/// for a malformed configuration, too.
std::shared_ptr<const RemoteUrl> locate_s3(const std::string& name);
std::shared_ptr<const RemoteUrl> locate_on_hub(const std::string& name);
/// A file that the program opens, not a server.
std::shared_ptr<const RemoteUrl> locate_source(const std::string& name, const std::shared_ptr<const UrlScheme>& scheme);

/// file:///PATH: a mounted file system that is read through the cache. An ETag is a file's number, size and time of
/// change.
UrlScheme file_scheme();
/// The path of a file:// name, as it is written: nothing is percent-encoded. nullopt if it is another name. Throws
/// `invalid_argument` if it is not absolute.
std::optional<std::string> path_of_file_url(const std::string& name);

}  // namespace bale
