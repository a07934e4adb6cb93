// Names of remote files (s3://, https://, hf://) and of commands (pipe:). bale opens local files only, and reports this
// instead of looking for a file of that name.
//
// No side effects but one stat() if a name looks like that; safe in any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace bale {

enum class NameUse : std::uint8_t { reading, writing };

/// Throws `invalid_argument` for a URL or command, unless a local file has exactly that name.
void require_local_name(std::string_view name, NameUse use = NameUse::reading);

}  // namespace bale
