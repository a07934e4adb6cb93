// How much the kernel reads ahead for one request.
#pragma once

#include <cstdint>

namespace bale {

inline constexpr std::uint64_t k_page_bytes = 4096;  // the smallest there is: larger ones are multiples of it

/// What is asked for in one request without looking further.
inline constexpr std::uint64_t k_least_read_limit = std::uint64_t{128} << 10;

/// How much of a file to ask the kernel for at a time, a multiple of k_page_bytes. Of more it forgets the rest (beyond
/// the device's read-ahead and its largest transfer: Linux, mm/readahead.c, force_page_cache_ra), or makes two
/// transfers of different size where one page of memory a segment is more segments than the device takes. Safe in any
/// thread.
std::uint64_t read_limit(int fd);

}  // namespace bale
