#include "bale/tools/report/json/json_output.hpp"

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/without_secrets.hpp"
#include "bale/formats/image/simd/simd_target.hpp"
#include "bale/tools/report/json/json_document.hpp"
#include "bale/tools/report/text/bench_report.hpp"
#include "bale/tools/report/text/numbers.hpp"
#include "bale/tools/terminal/progress.hpp"

namespace bale::tools {
namespace {

/// A path, a spec or a sentence with one, without what may be secret.
Json shown(std::string_view text) { return bytes_to_json(without_secrets(text)); }

double per_second(std::uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

Json or_null(const std::optional<double>& figure) { return figure ? Json(*figure) : Json(); }

Json texts_json(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(shown(text));
  return list;
}

Json stage_figures(const StageResult& result) {
  Json out{{"images_per_s", result.images_per_s()},
           {"mb_per_s", result.bytes_per_s() / 1e6},
           {"cpu_s_per_1000", result.cpu_s_per_1000()},
           {"first_batch_s", result.first_batch_s},
           {"pss_mb", result.memory ? Json(static_cast<double>(*result.memory) / 1e6) : Json()},
           {"images", result.images},
           {"batches", result.batches},
           {"seconds", result.seconds},
           {"bad_samples", result.bad.size()}};
  return out;
}

Json pipeline_options(const PipelineCommand& pipeline) {
  const LoaderOptions& options = pipeline.options;
  return {{"spec", shown(pipeline.spec)},
          {"batch", options.batch_size},
          {"size", options.transform.width},
          {"threads", options.worker_mode == WorkerMode::threads},
          {"seed", options.seed}};
}

Json setting_figures(const TuneRow& row) {
  Json out{{"workers", row.workers}, {"prefetch", row.prefetch}};
  out.update(stage_figures(row.result));
  out["cpu_share"] = row.cpu_share;
  out["machine_share"] = row.machine_share;
  out["io_wait_share"] = row.io_wait_share;
  return out;
}

Json conditions_json(const ImageConditions& conditions) {
  Json out{{"complete", conditions.num_complete},
           {"incomplete", conditions.num_incomplete},
           {"undecodable", conditions.num_undecodable},
           {"unknown", conditions.num_unknown}};
  if (conditions.num_above_limit > 0) out["above_limit"] = conditions.num_above_limit;
  return out;
}

Json summary_object(const DatasetSummary& summary) {
  Json fields = Json::array();
  for (const DatasetSummary::Field& field : summary.fields) {
    fields.push_back({{"name", bytes_to_json(field.name)},
                      {"codec", field.codec},
                      {"samples", field.num_samples},
                      {"stored_bytes", field.stored_bytes}});
  }
  Json classes = Json::array();
  for (const std::string& name : summary.classes) classes.push_back(bytes_to_json(name));
  Json shards = Json::array();
  for (const DatasetSummary::ShardRow& shard : summary.shards) {
    shards.push_back({{"path", shown(shard.path)},
                      {"samples", shard.num_samples},
                      {"bytes", shard.bytes},
                      {"indexed", shard.indexed},
                      {"checksums", shard.has_checksums},
                      {"seek_points", shard.has_seek_points},
                      {"digest", shard.digest.empty() ? Json() : Json(shard.digest)}});
  }
  Json out{{"spec", shown(summary.spec)},
           {"format", summary.format},
           {"layout", summary.layout.empty() ? Json() : Json(summary.layout)},
           {"manifest", summary.has_manifest}};
  if (summary.has_manifest) {
    out["name"] = bytes_to_json(summary.name);
    out["created_by"] = summary.created_by;
    out["plan"] = summary.plan;
    out["skipped"] = summary.num_skipped;
    out["edits"] = Json::object_of(summary.edits);
  }
  out["samples"] = summary.num_samples;
  out["bytes"] = summary.num_bytes;
  out["images"] = conditions_json(summary.images);
  out["fields"] = fields;
  out["classes"] = classes;
  out["shards"] = shards;
  out["notices"] = notices_json(summary.notices);
  return out;
}

Json check_object(const CheckReport& report) {
  Json findings = Json::array();
  for (const Damage& damage : report.findings) {
    Json finding{{"path", shown(damage.path)}};
    if (!damage.key.empty()) finding["key"] = bytes_to_json(damage.key);
    if (!damage.field.empty()) finding["field"] = bytes_to_json(damage.field);
    if (damage.offset) finding["offset"] = *damage.offset;
    finding["what"] = shown(damage.what);
    finding["code"] = verdict_of(damage.code).name;
    findings.push_back(std::move(finding));
  }
  Json leftovers = Json::array();
  for (const std::string& path : report.leftovers) leftovers.push_back(shown(path));
  Json out{{"spec", shown(report.spec)},
           {"samples", report.num_samples},
           {"shards", report.num_shards},
           {"bytes", report.num_bytes},
           {"shards_without_checksums", report.num_unchecked_shards},
           {"images_not_decoded", report.num_images_not_decoded},
           {"leftovers", leftovers},
           {"notices", notices_json(report.notices)},
           {"findings", findings}};
  for (const CheckReport& part : report.parts) out["parts"].push_back(check_object(part));
  return out;
}

Json skipped_json(const std::vector<SkippedSample>& samples) {
  Json skipped = Json::array();
  for (const SkippedSample& sample : samples) {
    Json line{{"origin", shown(sample.origin)}, {"why", shown(sample.why)}};
    if (sample.num_samples != 1) line["samples"] = sample.num_samples ? Json(*sample.num_samples) : Json();
    for (const std::string& copy : sample.quarantined) line["quarantined"].push_back(bytes_to_json(copy));
    skipped.push_back(std::move(line));
  }
  return skipped;
}

Json left_out_json(const WhereCounts& counts) {
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

Json notices_json(const NoticeLog& notices) {
  Json reasons = Json::object();
  Json asked = Json::array();  // those of them that are what an option asks for
  for (const auto& [why, reason] : notices.reasons()) {
    reasons[printable(why)] = reason.count;
    if (reason.is_asked) asked.push_back(printable(why));
  }
  Json entries = Json::array();
  for (const Notice& notice : notices.kept())
    entries.push_back({{"name", shown(notice.name)}, {"why", shown(notice.why)}});
  Json warnings = Json::array();
  for (const Warning& warning : notices.warnings()) {
    warnings.push_back({{"path", shown(warning.place)}, {"what", shown(warning.what)}});
  }
  return {{"ignored", notices.count()},
          {"reasons", reasons},
          {"asked", asked},
          {"entries", entries},
          {"unmatched", notices.count_of(WarningKind::no_match)},
          {"without_effect", notices.count_of(WarningKind::no_effect)},
          {"warnings", warnings}};
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
    outputs.push_back({{"directory", shown(output.directory)},
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
  return json_document({{"samples", report.num_samples},
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
                        {"left_out", left_out_json(remarks.left_out.where)},
                        {"excluded", excluded_json(remarks.left_out.listed)},
                        {"undecodable", Json::object_of(report.undecodable)},
                        {"skipped", skipped}});
}

std::string plan_json(const PlanReport& report, const RunRemarks& remarks) {
  return json_document({{"plan", report.digest},
                        {"samples", report.num_samples},
                        {"bytes", report.num_bytes},
                        {"shards", report.num_shards},
                        {"labels", labels_json(remarks.labels)},
                        {"ignored", remarks.notices.count()},
                        {"notices", notices_json(remarks.notices)},
                        {"warnings", texts_json(remarks.warnings)},
                        {"left_out", left_out_json(remarks.left_out.where)},
                        {"excluded", excluded_json(remarks.left_out.listed)}});
}

std::string part_json(const PartReport& report, double seconds) {
  return json_document({{"destination", shown(report.destination)},
                        {"samples", report.num_samples},
                        {"bytes", report.num_bytes},
                        {"shards", report.num_shards},
                        {"resumed_shards", report.num_resumed_shards},
                        {"seconds", seconds},
                        {"skipped", skipped_json(report.skipped)}});
}

std::string missing_json(const MergeReport& report) {
  return json_document({{"destination", shown(report.destination)},
                        {"shards", report.num_shards},
                        {"payload_bytes", report.payload_bytes},
                        {"missing_shards", Json::list_of(report.missing_shards)},
                        {"parts", report.num_parts != 0 ? Json(report.num_parts) : Json()},
                        {"missing_parts", Json::list_of(report.missing_parts)},
                        {"array", report.num_parts != 0 ? Json(number_list(report.missing_parts, "-")) : Json()}});
}

std::string index_json(const std::string& spec, const AddedIndexes& indexes, std::uint64_t num_sidecars,
                       const std::optional<AddedSeekPoints>& points) {
  Json failures = Json::array();
  for (const AddedIndexes::Failure& failure : indexes.failures) {
    failures.push_back({{"path", shown(failure.path)}, {"reason", bytes_to_json(error_reason(failure.error))}});
  }
  Json seek_points;
  if (points) {
    seek_points = {{"shards", points->num_shards},
                   {"images", points->num_images},
                   {"samples", points->num_samples},
                   {"unreadable", points->num_unreadable}};
  }
  return json_document({{"spec", shown(spec)},
                        {"indexed", indexes.num_added},
                        {"present", indexes.num_present},
                        {"failures", failures},
                        {"notices", notices_json(indexes.notices)},
                        {"sidecars", num_sidecars},
                        {"seek_points", seek_points}});
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

std::string summary_json(const DatasetSummary& summary) { return json_document(summary_object(summary)); }

std::string summaries_json(const std::string& spec, const std::vector<DatasetSummary>& summaries) {
  Json out{{"spec", shown(spec)}, {"samples", 0}, {"bytes", 0}, {"parts", Json::array()}};
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
  for (const DatasetSummary& summary : summaries) {
    samples += summary.num_samples;
    bytes += summary.num_bytes;
    out["parts"].push_back(summary_object(summary));
  }
  out["samples"] = samples;
  out["bytes"] = bytes;
  return json_document(out);
}

std::string check_json(const CheckReport& report) { return json_document(check_object(report)); }

namespace {

const char* name_of(Difference::Kind kind) {
  using enum Difference::Kind;
  switch (kind) {
    case only_in_a:
      return "only_in_a";
    case only_in_b:
      return "only_in_b";
    case label:
      return "label";
    case field_only_in_a:
      return "field_only_in_a";
    case field_only_in_b:
      return "field_only_in_b";
    case bytes:
      return "bytes";
    case unreadable_in_a:
      return "unreadable_in_a";
    case unreadable_in_b:
      return "unreadable_in_b";
  }
  return "";
}

}  // namespace

std::string diff_json(const DiffReport& report, std::uint64_t num_differences, std::span<const Difference> listed,
                      const NoticeLog& notices) {
  Json differences = Json::array();
  for (const Difference& difference : listed) {
    Json one{{"kind", name_of(difference.kind)}, {"key", bytes_to_json(difference.key)}};
    if (!difference.field.empty()) one["field"] = bytes_to_json(difference.field);
    if (!difference.what.empty()) one["what"] = shown(difference.what);
    one["origin"] = shown(difference.origin);
    differences.push_back(std::move(one));
  }
  return json_document({{"same", report.is_same()},
                        {"samples_in_a", report.samples_in_a},
                        {"samples_in_b", report.samples_in_b},
                        {"num_same", report.num_same},
                        {"num_different", report.num_different},
                        {"num_only_in_a", report.num_only_in_a},
                        {"num_only_in_b", report.num_only_in_b},
                        {"num_unreadable", report.num_unreadable},
                        {"same_classes", report.same_classes},
                        {"num_differences", num_differences},
                        {"notices", notices_json(notices)},
                        {"differences", std::move(differences)}});
}

std::string sample_json(const SampleRow& row) {
  Json fields = Json::object();
  for (const SampleRow::Field& field : row.fields) fields[printable(field.name)] = field.bytes;
  Json out{{"index", row.index}, {"key", bytes_to_json(row.key)}};
  if (row.label != k_no_label) out["label"] = row.label;
  if (!row.class_name.empty()) out["class"] = bytes_to_json(row.class_name);
  if (row.width != 0) out["width"] = row.width;
  if (row.height != 0) out["height"] = row.height;
  out["fields"] = fields;
  out["shard"] = shown(row.shard);
  return out.dump() + '\n';
}

std::string read_json(const ReadRates& rates) {
  return json_document({{"epochs", rates.epochs},
                        {"samples", rates.samples},
                        {"bytes", rates.bytes},
                        {"seconds", rates.seconds},
                        {"samples_per_second", per_second(rates.samples, rates.seconds)},
                        {"bytes_per_second", per_second(rates.bytes, rates.seconds)}});
}

std::string bench_json(const PipelineCommand& pipeline, std::span<const MeasuredStage> stages,
                       const std::optional<DeviceFigures>& device) {
  Json out = pipeline_options(pipeline);
  out["workers"] = pipeline.options.workers;
  out["prefetch"] = pipeline.options.prefetch;
  out["simd"] = simd_target();
  Json by_name = Json::object();
  for (const auto& [stage, result] : stages) {
    by_name[std::string(stage_name(stage))] = stage_figures(result);
    if (stage == Stage::train) out.update(stage_figures(result));
  }
  out["stages"] = by_name;
  if (device) {
    out["device"] = {{"name", device->name},
                     {"copy_gb_per_s", device->copy_bytes_per_s / 1e9},
                     {"plain_copy_gb_per_s", device->plain_bytes_per_s / 1e9},
                     {"hidden_share", device->hidden_share},
                     {"converts", device->converts},
                     {"step_ms", device->step_s * 1e3},
                     {"idle_share", or_null(device->idle_share)}};
  }
  return json_document(out);
}

std::string tune_json(const PipelineCommand& pipeline, std::span<const TuneRow> rows, const TuneRow& best,
                      double read_images_per_s, unsigned cores, const std::optional<DecodingFigures>& decoding) {
  Json out = pipeline_options(pipeline);
  out["cores"] = cores;
  Json settings = Json::array();
  for (const TuneRow& row : rows) settings.push_back(setting_figures(row));
  out["settings"] = settings;
  const std::optional<NoVerdict> none = no_verdict(best, read_images_per_s);
  LoaderOptions options = pipeline.options;
  options.workers = best.workers;
  options.prefetch = best.prefetch;
  out["recommended"] = none ? Json() : setting_figures(best);
  out["not_recommended_because"] = none ? Json(no_verdict_text(*none, best)) : Json();
  out["python"] = none ? Json() : bytes_to_json(python_loader(pipeline.spec, options));
  out["read_images_per_s"] = read_images_per_s;
  out["bound_by"] = bound_name(bound_of(best, read_images_per_s));
  if (decoding) {
    const DecodingTrial& device = decoding->device;
    out["decoding"] = {{"host_images_per_s", decoding->host.result.images_per_s()},
                       {"host_cpu_share", decoding->host.cpu_share},
                       {"device_images_per_s", device.result.images_per_s()},
                       {"device_cpu_share", device.cpu_share},
                       {"device_share", device.device_share},
                       {"device_is_faster", device_decodes_faster(*decoding)},
                       {"advice", decoding_advice(*decoding)}};
  }
  return json_document(out);
}

std::string doctor_json(const PipelineCommand& pipeline, const DoctorFigures& figures) {
  Json out = pipeline_options(pipeline);
  out["cores"] = figures.cores;
  out.update(setting_figures(figures.setting));
  out["read_images_per_s"] = figures.read;
  out["read_again_images_per_s"] = or_null(figures.read_again);
  out["decode_images_per_s"] = figures.load;
  out["copy_images_per_s"] = or_null(figures.copy);
  out["compute_images_per_s"] = or_null(figures.compute);
  out["bound_by"] = bottleneck_name(bottleneck_of(figures));
  out["device_waits_share"] = or_null(device_waits(figures));
  out["cores_needed"] = figures.compute && figures.load > 0 ? Json(cores_needed(figures)) : Json();
  out["workers_needed"] = figures.compute || figures.copy ? Json(workers_needed(figures)) : Json();
  out["advice"] = advice(figures);
  return json_document(out);
}

}  // namespace bale::tools
