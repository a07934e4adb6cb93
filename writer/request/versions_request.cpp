#include "bale/writer/request/versions_request.hpp"

#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"

namespace bale {
namespace {

Json version_json(const DatasetVersion& version) {
  Json out{{"version", version.id},
           {"samples", version.num_samples},
           {"shards", version.num_shards},
           {"bytes", version.num_bytes},
           {"created_by", version.created_by},
           {"parent", version.parent.empty() ? Json() : Json(version.parent)}};
  if (!version.parent.empty()) {
    out["change"] = {{"verb", version.change.verb},
                     {"samples", version.change.num_samples},
                     {"message", bytes_to_json(version.change.message)}};
  }
  return out;
}

}  // namespace

void add_prune_options(OptionTable& table, PruneOptions& options) {
  add_repeated(table, "keep", "N|VERSION", options.keep,
               "A version that stays, or a number of the newest ones; may be repeated");
  add_flag(table, "force", options.force, "Also versions that were replaced less than 14 days ago");
  add_flag(table, "n,dry_run", options.dry_run, "Say what would be removed, and change nothing");
}

DatasetPart one_dataset(const std::string& spec) {
  std::vector<DatasetPart> parts = resolve_dataset(spec).parts;
  if (parts.size() == 1 && !parts.front().manifest_path.empty()) return std::move(parts.front());
  throw Error(ErrorCode::invalid_argument, "has no versions: it is not one directory with a manifest.json",
              {.path = spec, .hint = "name a dataset that bale packed"});
}

PruneReport prune(const std::string& spec, const PruneOptions& options) {
  const DatasetPart part = one_dataset(spec);
  if (!part.version.empty()) {
    throw Error(ErrorCode::invalid_argument, "one version is named, and the others of its dataset are pruned",
                {.path = spec, .hint = "name the dataset, and the version with `keep`"});
  }
  return prune_versions(part.directory, options);
}

std::string versions_json(const std::string& spec, const std::vector<DatasetVersion>& versions) {
  Json list = Json::array();
  Json gone = Json::array();
  for (const DatasetVersion& version : versions) {
    if (version.gone.empty()) {
      list.push_back(version_json(version));
    } else {
      gone.push_back(Json{{"version", version.id}, {"why", version.gone}});
    }
  }
  return json_document({{"spec", shown_json(spec)}, {"versions", std::move(list)}, {"gone", std::move(gone)}});
}

std::string prune_json(const std::string& spec, const PruneReport& report) {
  return json_document({{"spec", shown_json(spec)},
                        {"kept", Json::list_of(report.kept)},
                        {"pruned", Json::list_of(report.pruned)},
                        {"files", report.num_files},
                        {"bytes", report.num_bytes},
                        {"bucket_keeps_removed", report.bucket_keeps_removed}});
}

}  // namespace bale
