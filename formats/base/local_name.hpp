// Names that lead to other machines (s3://, https://, hf://) or are commands (pipe:): bale opens local files only, and
// says so instead of looking for a file of that name.
//
// Pure but for one stat() of a name that looks so; safe in any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace bale {

enum class NameUse : std::uint8_t { reading, writing };

/// Throws `invalid_argument` for a URL or command, unless there is a local file of that very name.
void require_local_name(std::string_view name, NameUse use = NameUse::reading);

}  // namespace bale
