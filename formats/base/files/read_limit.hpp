// How much the kernel reads ahead for one request.
#pragma once

#include <cstdint>

namespace bale {

inline constexpr std::uint64_t k_page_bytes = 4096;  // the smallest page size; larger ones are multiples of it

/// A range up to this size is requested at once, without looking up the device's limit.
inline constexpr std::uint64_t k_least_read_limit = std::uint64_t{128} << 10;

/// How much of a file to request from the kernel at a time, a multiple of k_page_bytes. The kernel drops the rest of a
/// larger request (beyond the device's read-ahead and its largest transfer: Linux, mm/readahead.c,
/// force_page_cache_ra), or splits it into two transfers of different size if it has more pages than the device has
/// segments. Safe in any thread.
std::uint64_t read_limit(int fd);

}  // namespace bale
