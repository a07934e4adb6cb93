// Samples that will be read -> the requests that fetch their bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "bale/reader/dataset.hpp"

namespace bale {

struct ReadRequest {
  std::size_t shard = 0;
  FileRange range;
};

/// Bytes between two samples that are sooner read than skipped: less time on any device than a request more.
inline constexpr std::uint64_t k_read_gap_bytes = std::uint64_t{32} << 10;

/// Appends where the sample's bytes lie; nothing where only a container's library can reach them. Returns how many
/// bytes that is. Throws what opening its shard throws.
std::uint64_t locate_reads(const Dataset& dataset, std::uint64_t sample, std::vector<ReadRequest>& requests);

/// Sorts by shard and offset and makes one request of neighbors up to `gap_bytes` apart.
void merge_reads(std::vector<ReadRequest>& requests, std::uint64_t gap_bytes = k_read_gap_bytes);

}  // namespace bale
