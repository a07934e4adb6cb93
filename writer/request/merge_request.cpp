#include "bale/writer/request/merge_request.hpp"

#include <sys/stat.h>

#include <chrono>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/options/option_values.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/writer/merge_datasets.hpp"
#include "bale/writer/request/run_lines.hpp"

namespace bale {
namespace {

bool names_directory(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

MergeReport merged(const MergeRequest& request, const std::function<void(const std::string&)>& on_warning,
                   Progress& progress) {
  if (!request.output.empty()) {
    return {.datasets = merge_datasets({.sources = request.sources,
                                        .destination = request.output,
                                        .name = request.name,
                                        .link = request.link,
                                        .allow_removed = request.allow_removed,
                                        .jobs = request.jobs,
                                        .mode = request.mode,
                                        .on_warning = on_warning},
                                       progress)};
  }
  if (request.sources.size() != 1) {
    throw Error(ErrorCode::invalid_argument, "packed datasets are merged into a new directory",
                {.hint = "name it: bale merge A B -o DST"});
  }
  const std::string& source = request.sources.front();
  if (names_directory(source)) return merge_writer_parts(source, request.parts, request.jobs, progress);
  return merge_parts(source, request.parts, request.jobs, progress);
}

}  // namespace

void add_merge_options(OptionTable& table, MergeRequest& request) {
  OptionModel& output = add_text(table, "o,output", "DST", request.output,
                                 "Directory to write the packed datasets SRC to, as one; created if it does not exist");
  add_text(table, "name", "NAME", request.name, "Name of that dataset and prefix of its shards").needs(output);
  add_flag(table, "link", request.link,
           "Give the shards a second name (a hard link) instead of copying them, if the file system can")
      .needs(output);
  add_flag(table, "allow_removed", request.allow_removed,
           "Take samples of one dataset that were removed from another, by their keys or images")
      .needs(output);
  OptionModel& resume = add_flag(
      table, "resume", [&] { request.mode = DestinationMode::resume; },
      "Continue an interrupted run of the same command");
  resume.needs(output);
  add_flag(
      table, "overwrite", [&] { request.mode = DestinationMode::overwrite; },
      "Replace the dataset in DST, if it has the same name: it stays until the new one is complete")
      .needs(output)
      .excludes(resume);
  add_parsed(table, "parts", "N", request.parts, parse_positive,
             "Number of parts, to name those that are missing (default: as they were packed)")
      .excludes(output);
  add_jobs(table, request.jobs, "Shards to check or copy in parallel (default: automatic)");
}

MergeOutcome merge(const MergeRequest& request, const RunNotes& notes, Progress& progress) {
  const auto begin = std::chrono::steady_clock::now();
  MergeOutcome outcome;
  const auto on_warning = warner(outcome.warnings, notes);
  try {
    outcome.report = merged(request, on_warning, progress);
  } catch (const Error& error) {
    throw with_way_on(error, request.place(), progress);
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return outcome;
}

void require_complete(const MergeReport& report) {
  if (report.datasets) return;
  if (report.missing_shards.empty()) {
    throw Error(ErrorCode::retryable,
                fmt::format("{} of {} not written: {}", human_count(report.missing_parts.size()),
                            plural(report.num_parts, "part"), number_list(report.missing_parts, "-")),
                {.path = report.destination, .hint = "write them, then merge again"});
  }
  throw Error(ErrorCode::retryable,
              fmt::format("{} of {} not packed: {}", human_count(report.missing_shards.size()),
                          plural(report.num_shards, "shard"), number_list(report.missing_shards, "..")),
              {.path = report.destination, .hint = "pack them, then merge again"});
}

PackOutcome packed_of(const MergeOutcome& merged) {
  return {.report = *merged.report.datasets,
          .images = conditions_of(*merged.report.datasets, k_default_max_pixels),
          .seconds = merged.seconds};
}

}  // namespace bale
