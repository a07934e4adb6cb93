// Numbers of bytes in environment variables.
#pragma once

#include <cstdint>
#include <optional>

namespace bale {

/// The value of the environment variable `name`; nullopt if it is not set or empty. Throws `invalid_argument` if it is
/// not a number in digits.
std::optional<std::uint64_t> env_bytes(const char* name);

}  // namespace bale
