// plan_pack(): the beginning of packing on many machines.
#include <sys/stat.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/storage/objects/object_store.hpp"
#include "bale/writer/plan/plan_file.hpp"
#include "bale/writer/publish/destination.hpp"
#include "bale/writer/run/objects/object_decision.hpp"
#include "bale/writer/run/objects/staging_directory.hpp"
#include "bale/writer/run/preview.hpp"
#include "bale/writer/scale_out.hpp"

namespace bale {
namespace {

bool is_same_directory(const std::string& a, const std::string& b) {
  struct stat first {};
  struct stat second {};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

/// The plan of pack(), for a destination that may be packed to in parts.
Plan checked_plan(const Source& source, const PackOptions& options, const std::string& path) {
  require_local_name(options.destination, UrlUse::packing);
  const bool writes_objects = is_object_store(options.destination);
  if (options.on_error == OnError::quarantine) {
    throw Error(ErrorCode::invalid_argument, "parts of a plan have no quarantine",
                {.hint = "choose `on_error` fail or skip"});
  }
  if (options.mode != DestinationMode::fresh) {
    throw Error(ErrorCode::invalid_argument, "a plan is for a new destination",
                {.hint = "drop `resume` and `overwrite`: rerunning a part resumes it"});
  }
  require_apart(source.places(), options);
  Plan plan = make_plan(source, options);
  tell_sizing(options, plan);
  try_format_options(options, StagingDirectory(writes_objects ? options.staging_directory : std::string{}).path());
  writes_objects ? require_empty_objects(options, plan) : require_may_begin(options, plan, {});
  if (is_same_directory(parent_directory(path), options.destination)) {
    throw Error(ErrorCode::invalid_argument, "the plan file is inside the destination",
                {.path = path, .hint = "keep it elsewhere"});
  }
  return plan;
}

}  // namespace

PackPreview preview_plan(const Source& source, const PackOptions& options, const std::string& path) {
  const Plan plan = checked_plan(source, options, path);
  (void)source.save_head();
  return preview_of(source, options, plan);
}

PlanReport plan_pack(const Source& source, const PackOptions& options, const std::string& path) {
  const Plan plan = checked_plan(source, options, path);
  PlanFile::write(path, source, options, plan);
  PlanReport report{
      .digest = PlanFile::open(path).digest(), .num_samples = plan.num_samples, .num_bytes = plan.num_bytes};
  for (const PlannedDataset& dataset : plan.datasets) report.num_shards += dataset.shards.size();
  return report;
}

}  // namespace bale
