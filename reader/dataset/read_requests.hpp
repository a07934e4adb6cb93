// Turns samples that will be read into the requests that fetch their bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "bale/reader/dataset.hpp"

namespace bale {

struct ReadRequest {
  std::size_t shard = 0;
  FileRange range;
};

/// Gaps of up to this many bytes are read, not skipped: on any device that is faster than one more request.
inline constexpr std::uint64_t k_read_gap_bytes = std::uint64_t{32} << 10;

/// Appends the file ranges of the sample's bytes; none if only a container's library can reach them. Returns the number
/// of bytes. Throws what opening the shard throws.
std::uint64_t locate_reads(const Dataset& dataset, std::uint64_t sample, std::vector<ReadRequest>& requests);

/// Sorts by shard and offset, and merges neighbors that are up to `gap_bytes` apart.
void merge_reads(std::vector<ReadRequest>& requests, std::uint64_t gap_bytes = k_read_gap_bytes);

}  // namespace bale
