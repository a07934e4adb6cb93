// Results of `bale cache` as JSON text, each ending in a newline.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/formats/storage/remote_cache.hpp"
#include "bale/reader/fetch_dataset.hpp"

namespace bale::tools {

std::string cache_json(const RemoteCache& cache, const std::vector<RemoteCache::File>& files);
std::string cache_check_json(const RemoteCache::CheckReport& report);
std::string cache_removal_json(const RemoteCache& cache, std::uint64_t removed, bool is_dry_run);
std::string cache_fetch_json(const RemoteCache& cache, const FetchPlan& plan, bool is_dry_run);

}  // namespace bale::tools
