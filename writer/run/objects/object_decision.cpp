#include "bale/writer/run/objects/object_decision.hpp"

#include <algorithm>

#include "bale/formats/base/error.hpp"
#include "bale/writer/destination/overlap.hpp"
#include "bale/writer/publish/run_decision.hpp"

namespace bale {
namespace {

/// A name with one slash at the end, so that a directory is the beginning of what it holds.
std::string as_prefix(std::string name) {
  while (name.ends_with('/')) name.pop_back();
  return name + '/';
}

bool is_of_another(const std::optional<ObjectRun>& run, const Plan& plan) {
  return run && (run->is_parts || run->plan != plan.fingerprint);
}

void require_object_options(const std::vector<std::string>& places, const PackOptions& options) {
  if (options.on_error == OnError::quarantine) {
    throw Error(ErrorCode::invalid_argument, "an object store has no quarantine",
                {.path = options.destination, .hint = "choose `on_error` fail or skip"});
  }
  const std::string destination = as_prefix(options.destination);
  require_sources_apart_from_cache(places);
  for (const std::string& place : places) {
    if (as_prefix(place).starts_with(destination)) {
      throw Error(ErrorCode::invalid_argument, "holds the source",
                  {.path = options.destination, .hint = "choose a prefix outside of the source"});
    }
  }
}

/// The same of a run that adds to a dataset. No version names what an unfinished one has stored.
ObjectDecision decide_to_add(const ObjectDestination& destination, const PackOptions& options, const Plan& plan) {
  const std::optional<ObjectRun>& unfinished = destination.unfinished();
  if (unfinished && options.mode == DestinationMode::fresh) {
    throw Error(
        ErrorCode::exists, "holds an unfinished run",
        {.path = options.destination,
         .hint = "continue it with `resume`, or drop it with `restart`, unless another program is at work there"});
  }
  if (options.mode == DestinationMode::resume && is_of_another(unfinished, plan)) {
    refuse_other_plan(options.destination, "holds an unfinished run of other files or options",
                      describe_changes(unfinished->facts, {}, plan.facts, {}),
                      "resume with the same source and options, or drop it with `restart`");
  }
  const std::vector<std::string> files = OldDataset{{}, plan.base->manifest}.files();
  ObjectDecision decision{.resumes = unfinished && options.mode == DestinationMode::resume};
  if (unfinished) {
    for (const auto* left : {&unfinished->files, &unfinished->replaced}) {
      for (const std::string& file : *left) {
        if (destination.holds(file) && std::find(files.begin(), files.end(), file) == files.end())
          decision.known.push_back(file);
      }
    }
  }
  std::vector<std::string> ours = files;
  ours.insert(ours.end(), decision.known.begin(), decision.known.end());
  destination.require_way_is_free(ours);
  return decision;
}

}  // namespace

std::vector<Manifest> manifests_to_resume(const ObjectDestination& destination, const PackOptions& options,
                                          const Plan& plan) {
  if (options.mode != DestinationMode::resume || is_of_another(destination.unfinished(), plan)) return {};
  return destination.finished_manifests();
}

ObjectDecision decide(const ObjectDestination& destination, const PackOptions& options, const Plan& plan) {
  if (plan.base) return decide_to_add(destination, options, plan);
  const std::optional<ObjectRun>& unfinished = destination.unfinished();
  ObjectDecision decision;
  if (options.mode == DestinationMode::overwrite) {
    const HeldDatasets held = destination.held();
    decision.old = datasets_to_replace(plan, held);
    decision.stay = datasets_that_stay(plan, held);
    std::vector<std::string>& known = decision.known;
    for (const OldDataset& old : decision.old) {
      const std::vector<std::string> files = old.files();
      known.insert(known.end(), files.begin(), files.end());
      known.push_back(below_destination(old.subdirectory, k_manifest_name));
    }
    if (unfinished) {
      for (const auto* files : {&unfinished->files, &unfinished->replaced}) {
        known.insert(known.end(), files->begin(), files->end());
      }
    }
    destination.require_way_is_free(known);
    std::erase_if(known, [&](const std::string& file) { return !destination.holds(file); });
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    return decision;
  }
  if (unfinished && options.mode == DestinationMode::fresh) {
    throw Error(
        ErrorCode::exists, "holds an unfinished pack",
        {.path = options.destination,
         .hint = "continue with `resume`, or start again with `overwrite`, unless another program is packing there"});
  }
  if (options.mode == DestinationMode::resume && is_of_another(unfinished, plan)) {
    refuse_other_plan(options.destination, "holds an unfinished pack of other files or options",
                      describe_changes(unfinished->facts, {}, plan.facts, {}),
                      "resume with the same source and options, or start again with `overwrite`");
  }
  decision.resumes = unfinished.has_value();
  if (!unfinished) require_empty(plan, destination.held());
  return decision;
}

void require_may_join(const ObjectDestination& destination, const PackOptions& options, const Plan& plan) {
  const std::optional<ObjectRun>& unfinished = destination.unfinished();
  if (!unfinished) return require_empty(plan, destination.held());
  const std::string& path = options.destination;
  if (!unfinished->is_parts) {
    throw Error(ErrorCode::exists, "holds an unfinished pack",
                {.path = path, .hint = "finish it with `resume`, or plan for another prefix"});
  }
  if (!destination.is_unfinished_plan()) {
    throw Error(ErrorCode::exists, "holds parts of another plan",
                {.path = path, .hint = "merge that plan, or plan for another prefix"});
  }
}

void require_apart(const std::vector<std::string>& places, const PackOptions& options) {
  is_object_store(options.destination) ? require_object_options(places, options)
                                       : require_no_overlap(places, options.destination);
}

void require_may_run_objects(const PackOptions& options, const Plan& plan) {
  const Progress progress;
  ObjectDestination destination(options, plan, plan.fingerprint, false, progress);
  destination.list();
  if (!plan.base && !manifests_to_resume(destination, options, plan).empty()) return;
  const std::string stay = decide(destination, options, plan).stay;
  if (!stay.empty() && options.on_warning) options.on_warning(stay);
}

void require_empty_objects(const PackOptions& options, const Plan& plan) {
  const Progress progress;
  ObjectDestination destination(options, plan, {}, true, progress);
  destination.list();
  if (destination.unfinished()) {
    throw Error(ErrorCode::exists, "holds an unfinished pack",
                {.path = options.destination, .hint = "finish it with `resume`, or plan for another prefix"});
  }
  require_empty(plan, destination.held());
}

void require_may_join_objects(const PlanFile& plan) {
  const Progress progress;
  ObjectDestination destination(plan.options(), plan.plan(), plan.digest(), true, progress);
  destination.list();
  if (destination.finished_manifests().empty()) require_may_join(destination, plan.options(), plan.plan());
}

}  // namespace bale
