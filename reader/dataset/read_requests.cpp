#include "bale/reader/dataset/read_requests.hpp"

#include <algorithm>

namespace bale {

std::uint64_t locate_reads(const Dataset& dataset, std::uint64_t sample, std::vector<ReadRequest>& requests) {
  const auto [shard, i] = dataset.position(sample);
  std::uint64_t bytes = 0;
  for (const FileRange& range : dataset.use_shard(shard)->locate(i)) {
    requests.push_back({shard, range});
    bytes += range.length;
  }
  return bytes;
}

void merge_reads(std::vector<ReadRequest>& requests, std::uint64_t gap_bytes) {
  std::stable_sort(requests.begin(), requests.end(),
                   [](const ReadRequest& a, const ReadRequest& b) { return a.shard < b.shard; });
  std::vector<ReadRequest> merged;
  std::vector<FileRange> ranges;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    ranges.push_back(requests[i].range);
    if (i + 1 < requests.size() && requests[i + 1].shard == requests[i].shard) continue;
    merge_ranges(ranges, gap_bytes);
    for (const FileRange& range : ranges) merged.push_back({requests[i].shard, range});
    ranges.clear();
  }
  requests = std::move(merged);
}

}  // namespace bale
