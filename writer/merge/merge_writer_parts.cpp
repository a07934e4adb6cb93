// merge_writer_parts(): joins the parts that Writers wrote.
#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/writer/destination/directory.hpp"
#include "bale/writer/merge/merge_shards.hpp"
#include "bale/writer/merge_datasets.hpp"
#include "bale/writer/publish/writer_parts.hpp"

namespace bale {
namespace {

PackReport report_of(const std::string& destination, Manifest manifest) {
  PackReport report{.num_samples = manifest.num_samples, .num_resumed_shards = manifest.shards.size()};
  for (const ManifestShard& shard : manifest.shards) report.num_bytes += shard.bytes;
  report.outputs.push_back({destination, std::move(manifest)});
  return report;
}

/// The dataset at the destination, if an earlier merge has published it. Removes what is left of its parts.
std::optional<PackReport> take_merged(const std::string& destination) {
  const std::string path = join_path(destination, k_manifest_name);
  if (!name_is_taken(path) || name_is_taken(join_path(destination, k_partial_name))) return std::nullopt;
  Manifest manifest = load_manifest(path);
  const std::string merged = merged_fingerprint(destination);
  if (merged.empty() && !find_writer_parts(destination).empty()) return std::nullopt;
  if (!merged.empty()) {
    if (merged != manifest.plan) return std::nullopt;
    remove_writer_parts(destination, merged);
  }
  Directory::open(destination).remove_directory(k_writer_parts_name);  // empty, if that was killed
  return report_of(destination, std::move(manifest));
}

/// How many parts there are. Throws unless all agree.
std::uint64_t number_of_parts(const std::string& destination, const std::vector<WriterPart>& found,
                              std::uint64_t parts) {
  if (found.empty()) {
    throw Error(ErrorCode::not_found, "holds no parts of Writers",
                {.path = destination, .hint = "`bale merge A B -o DST` merges finished datasets"});
  }
  if (parts == 0) parts = found.front().parts;
  for (const WriterPart& part : found) {
    if (part.parts == parts) continue;
    throw Error(ErrorCode::invalid_argument, fmt::format("is a part of {}, not of {}", part.parts, parts),
                {.path = part.directory, .hint = "write every part with the same number of parts"});
  }
  return parts;
}

void require_same_options(const std::vector<FinishedDataset>& parts) {
  const Manifest& first = parts.front().manifest;
  for (const FinishedDataset& part : parts) {
    if (part.manifest.plan == first.plan) continue;
    const char* const what = part.manifest.classes != first.classes ? "classes"
                             : part.manifest.name != first.name     ? "name"
                                                                    : "options";
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("its Writer had other {} than that of {}", what, printable(base_name(parts.front().directory))),
        {.path = part.directory, .hint = "write that part again with `overwrite` and the same options"});
  }
}

[[noreturn]] void refuse_no_samples(const std::string& destination, const std::vector<FinishedDataset>& parts) {
  const bool any_skipped = std::any_of(parts.begin(), parts.end(),
                                       [](const FinishedDataset& part) { return part.manifest.num_skipped != 0; });
  if (any_skipped) {
    throw Error(ErrorCode::damaged, "all samples of all parts were skipped",
                {.path = destination, .hint = "look at the source"});
  }
  throw Error(ErrorCode::invalid_argument, "nothing to merge: no part has a sample", {.path = destination});
}

}  // namespace

MergeReport merge_writer_parts(const std::string& destination, std::uint64_t parts, unsigned jobs, Progress& progress) {
  require_local_name(destination, UrlUse::writing);
  MergeReport report{.destination = destination};
  report.datasets = take_merged(destination);
  if (report.datasets) return report;
  const std::vector<WriterPart> found = find_writer_parts(destination);
  report.num_parts = number_of_parts(destination, found, parts);
  std::vector<std::string> directories;
  auto next = found.begin();
  for (std::uint64_t part = 0; part < report.num_parts; ++part) {
    const bool begun = next != found.end() && next->part == part;
    const bool complete = begun && name_is_taken(join_path(next->directory, k_manifest_name)) &&
                          !name_is_taken(join_path(next->directory, k_partial_name));
    if (complete) directories.push_back(next->directory);
    if (!complete) report.missing_parts.push_back(part);
    if (begun) ++next;
  }
  if (!report.missing_parts.empty()) return report;
  const std::vector<FinishedDataset> datasets = load_finished(directories);
  require_same_options(datasets);
  const bool any = std::any_of(datasets.begin(), datasets.end(),
                               [](const FinishedDataset& part) { return part.manifest.num_samples != 0; });
  if (!any) refuse_no_samples(destination, datasets);
  // The parts are removed afterwards, so a link is as good as a move, and can be repeated after a kill.
  report.datasets = merge_shards(datasets,
                                 {.destination = destination,
                                  .name = datasets.front().manifest.name,
                                  .link = true,
                                  .jobs = jobs,
                                  .mode = DestinationMode::resume,
                                  .beside_parts = true},
                                 progress);
  remove_writer_parts(destination, report.datasets->outputs.front().manifest.plan);
  return report;
}

}  // namespace bale
