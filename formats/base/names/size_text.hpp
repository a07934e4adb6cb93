// Sizes as people write them, and numbers of bytes in environment variables.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace bale {

/// "256MiB" and "256M" are 256 x 2^20 bytes, "64MB" is 64 x 10^6, "1048576" and "1048576B" are bytes. nullopt for any
/// other text, and for less than 1 byte or more than 9.2e18.
std::optional<std::uint64_t> size_of_text(std::string_view text);

/// The value of the environment variable `name`; nullopt if it is not set or empty. Throws `invalid_argument` if it is
/// not a number in digits.
std::optional<std::uint64_t> env_bytes(const char* name);

}  // namespace bale
