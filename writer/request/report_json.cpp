#include "bale/writer/request/report_json.hpp"

#include "bale/formats/base/json/json.hpp"
#include "bale/reader/check/report_json.hpp"
#include "bale/writer/request/run_lines.hpp"

namespace bale {
namespace {

double per_second(std::uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

Json texts_json(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(shown_json(text));
  return list;
}

Json where_json(const WhereCounts& counts) {
  return {{"samples", counts.num_left_out}, {"unknown", counts.num_unknown}};
}

Json excluded_json(const ExcludeCounts& counts) {
  return {{"samples", counts.num_excluded}, {"unmatched_names", counts.num_unmatched}};
}

Json labels_json(const LabelOrigin& labels) {
  return {{"reading", labels.reading == LabelReading::none ? Json() : Json(label_reading_name(labels.reading))},
          {"column", labels.column.empty() ? Json() : bytes_to_json(labels.column)},
          {"missing", labels.num_missing}};
}

}  // namespace

Json skipped_json(const std::vector<SkippedSample>& samples) {
  Json skipped = Json::array();
  for (const SkippedSample& sample : samples) {
    Json line{{"origin", shown_json(sample.origin)}, {"why", shown_json(sample.why)}};
    if (sample.num_samples != 1) line["samples"] = sample.num_samples ? Json(*sample.num_samples) : Json();
    for (const std::string& copy : sample.quarantined) line["quarantined"].push_back(bytes_to_json(copy));
    skipped.push_back(std::move(line));
  }
  return skipped;
}

void add_remarks(const RunRemarks& remarks, Json& report) {
  report["ignored"] = remarks.notices.count();
  report["notices"] = notices_json(remarks.notices);
  report["warnings"] = texts_json(remarks.warnings);
  report["labels"] = labels_json(remarks.labels);
  report["left_out"] = where_json(remarks.left_out.where);
  report["excluded"] = excluded_json(remarks.left_out.listed);
}

std::string pack_json(const PackReport& report, double seconds, const RunRemarks& remarks,
                      const ImageConditions& conditions) {
  Json outputs = Json::array();
  std::uint64_t num_shards = 0;
  for (const PackReport::Output& output : report.outputs) {
    const Manifest& manifest = output.manifest;
    num_shards += manifest.shards.size();
    std::uint64_t bytes = 0;
    for (const ManifestShard& shard : manifest.shards) bytes += shard.bytes;
    outputs.push_back({{"directory", shown_json(output.directory)},
                       {"name", bytes_to_json(manifest.name)},
                       {"format", manifest.format},
                       {"layout", manifest.layout},
                       {"samples", manifest.num_samples},
                       {"skipped", manifest.num_skipped},
                       {"classes", manifest.classes.size()},
                       {"shards", manifest.shards.size()},
                       {"bytes", bytes}});
  }
  const Json skipped = skipped_json(report.skipped);
  const bool resumed = report.num_resumed_shards > 0;  // it is not known how long those took
  Json out{{"samples", report.num_samples},
           {"bytes", report.num_bytes},
           {"shards", num_shards},
           {"resumed_shards", report.num_resumed_shards},
           {"ignored", remarks.notices.count()},
           {"notices", notices_json(remarks.notices)},
           {"warnings", texts_json(remarks.warnings)},
           {"images", conditions_json(conditions)},
           {"seconds", seconds},
           {"samples_per_second", resumed ? Json() : Json(per_second(report.num_samples, seconds))},
           {"bytes_per_second", resumed ? Json() : Json(per_second(report.num_bytes, seconds))},
           {"outputs", outputs},
           {"labels", labels_json(remarks.labels)},
           {"left_out", where_json(remarks.left_out.where)},
           {"excluded", excluded_json(remarks.left_out.listed)},
           {"undecodable", Json::object_of(report.undecodable)},
           {"jpegs", Json::object_of(report.jpegs)},
           {"skipped", skipped}};
  if (report.added) {
    out["version"] = report.added->version;
    out["parent"] = report.added->parent;
    out["new_classes"] = bytes_list_to_json(report.added->new_classes);
    out["existing"] = report.added->num_existing;
  }
  return json_document(out);
}

std::string plan_json(const PlanReport& report, const RunRemarks& remarks) {
  Json out{{"plan", report.digest},
           {"samples", report.num_samples},
           {"bytes", report.num_bytes},
           {"shards", report.num_shards}};
  add_remarks(remarks, out);
  return json_document(out);
}

std::string part_json(const PartReport& report, double seconds) {
  return json_document({{"destination", shown_json(report.destination)},
                        {"samples", report.num_samples},
                        {"bytes", report.num_bytes},
                        {"shards", report.num_shards},
                        {"resumed_shards", report.num_resumed_shards},
                        {"seconds", seconds},
                        {"skipped", skipped_json(report.skipped)}});
}

std::string missing_json(const MergeReport& report) {
  return json_document({{"destination", shown_json(report.destination)},
                        {"shards", report.num_shards},
                        {"payload_bytes", report.payload_bytes},
                        {"missing_shards", Json::list_of(report.missing_shards)},
                        {"parts", report.num_parts != 0 ? Json(report.num_parts) : Json()},
                        {"missing_parts", Json::list_of(report.missing_parts)},
                        {"array", report.num_parts != 0 ? Json(number_list(report.missing_parts, "-")) : Json()}});
}

std::string preview_json(const PackPreview& preview, const std::vector<std::string>& warnings) {
  Json shards = Json::array();
  for (const PackPreview::ShardRow& row : preview.shards) {
    shards.push_back(
        {{"file", bytes_to_json(row.file)}, {"samples", row.num_samples}, {"payload_bytes", row.payload_bytes}});
  }
  return json_document({{"shards", shards},
                        {"payload_is_estimated", preview.num_measured != 0},
                        {"measured_samples", preview.num_measured},
                        {"warnings", texts_json(warnings)}});
}

}  // namespace bale
