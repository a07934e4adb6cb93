// How much the kernel reads ahead for one request.
#pragma once

#include <cstdint>

namespace bale {

/// What is never cut short.
inline constexpr std::uint64_t k_least_read_limit = std::uint64_t{128} << 10;

/// Bytes beyond which the kernel forgets the rest of one request to read ahead: the larger of the device's read-ahead
/// and its largest transfer (Linux, mm/readahead.c, force_page_cache_ra), at least k_least_read_limit. Safe in any
/// thread.
std::uint64_t read_limit(int fd);

}  // namespace bale
