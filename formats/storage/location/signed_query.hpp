// Presigned URLs: what of a query is the signature's own, and what says which file is meant.
#pragma once

#include <string>
#include <string_view>

namespace bale {

/// The URL without the parameters of a signature of S3, CloudFront, Google or Azure, which differ from one time that it
/// is signed to the next. All other parameters stay, in their order: they may name the file.
std::string without_signature(std::string_view url);

}  // namespace bale
