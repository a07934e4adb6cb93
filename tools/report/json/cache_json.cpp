#include "bale/tools/report/json/json_output.hpp"

#include "bale/formats/base/json/json.hpp"

namespace bale::tools {
namespace {

Json name_json(const std::string& name) { return name.empty() ? Json() : bytes_to_json(name); }

Json use_json(const RemoteCache& cache) {
  return {{"directory", bytes_to_json(cache.directory())},
          {"limit_bytes", cache.limit_bytes()},
          {"used_bytes", cache.used_bytes()}};
}

}  // namespace

std::string cache_json(const RemoteCache& cache, const std::vector<RemoteCache::File>& files) {
  Json out = use_json(cache);
  out["files"] = Json::array();
  for (const RemoteCache::File& file : files) {
    out["files"].push_back({{"name", name_json(file.name)},
                            {"bytes", file.bytes},
                            {"cached_bytes", file.cached_bytes},
                            {"last_use", file.last_use_s == 0 ? Json() : Json(file.last_use_s)}});
  }
  return json_document(out);
}

std::string cache_check_json(const RemoteCache::CheckReport& report) {
  Json damages = Json::array();
  for (const RemoteCache::Damage& damage : report.damages) {
    damages.push_back({{"name", name_json(damage.name)}, {"bytes", damage.bytes}});
  }
  return json_document({{"files", report.num_files}, {"bytes", report.num_bytes}, {"damages", damages}});
}

std::string cache_removal_json(const RemoteCache& cache, std::uint64_t removed, bool is_dry_run) {
  Json out = use_json(cache);
  out["removed_bytes"] = removed;
  out["dry_run"] = is_dry_run;
  return json_document(out);
}

std::string cache_fetch_json(const RemoteCache& cache, const FetchPlan& plan, bool is_dry_run) {
  Json out = use_json(cache);
  out["files"] = plan.files.size();
  out["bytes"] = plan.bytes;
  out["dry_run"] = is_dry_run;
  return json_document(out);
}

}  // namespace bale::tools
