#include "bale/tools/report/json/json_output.hpp"

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/image/simd/simd_target.hpp"
#include "bale/reader/check/report_json.hpp"
#include "bale/tools/report/text/bench_report.hpp"
#include "bale/tools/terminal/progress.hpp"

namespace bale::tools {
namespace {

double per_second(std::uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

Json or_null(const std::optional<double>& figure) { return figure ? Json(*figure) : Json(); }

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
  return {{"spec", shown_json(pipeline.spec)},
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

Json name_json(const std::string& name) { return name.empty() ? Json() : bytes_to_json(name); }

Json use_json(const RemoteCache& cache) {
  return {{"directory", bytes_to_json(cache.directory())},
          {"limit_bytes", cache.limit_bytes()},
          {"used_bytes", cache.used_bytes()}};
}

}  // namespace

std::string index_json(const std::string& spec, const AddedIndexes& indexes, std::uint64_t num_sidecars,
                       const std::optional<AddedSeekPoints>& points) {
  Json failures = Json::array();
  for (const AddedIndexes::Failure& failure : indexes.failures) {
    failures.push_back({{"path", shown_json(failure.path)}, {"reason", bytes_to_json(error_reason(failure.error))}});
  }
  Json seek_points;
  if (points) {
    seek_points = {{"shards", points->num_shards},
                   {"images", points->num_images},
                   {"samples", points->num_samples},
                   {"unreadable", points->num_unreadable}};
  }
  return json_document({{"spec", shown_json(spec)},
                        {"indexed", indexes.num_added},
                        {"present", indexes.num_present},
                        {"failures", failures},
                        {"notices", notices_json(indexes.notices)},
                        {"sidecars", num_sidecars},
                        {"seek_points", seek_points}});
}

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
    if (!difference.what.empty()) one["what"] = shown_json(difference.what);
    one["origin"] = shown_json(difference.origin);
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
  out["shard"] = shown_json(row.shard);
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

std::string cache_fetch_json(const RemoteCache& cache, const FetchList& plan, bool is_dry_run) {
  Json out = use_json(cache);
  out["files"] = plan.files.size();
  out["bytes"] = plan.bytes;
  out["dry_run"] = is_dry_run;
  return json_document(out);
}

}  // namespace bale::tools
