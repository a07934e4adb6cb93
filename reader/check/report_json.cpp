#include "bale/reader/check/report_json.hpp"

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"

namespace bale {
namespace {

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
    shards.push_back({{"path", shown_json(shard.path)},
                      {"samples", shard.num_samples},
                      {"bytes", shard.bytes},
                      {"indexed", shard.indexed},
                      {"checksums", shard.has_checksums},
                      {"seek_points", shard.has_seek_points},
                      {"digest", shard.digest.empty() ? Json() : Json(shard.digest)}});
  }
  Json out{{"spec", shown_json(summary.spec)},
           {"format", summary.format},
           {"layout", summary.layout.empty() ? Json() : Json(summary.layout)},
           {"version", summary.version},
           {"manifest", summary.has_manifest}};
  if (summary.has_manifest) {
    out["name"] = bytes_to_json(summary.name);
    out["created_by"] = summary.created_by;
    out["plan"] = summary.plan;
    out["skipped"] = summary.num_skipped;
    out["removed"] = summary.num_removed;
    out["corrected_labels"] = summary.num_labels;
    out["layer_fields"] = bytes_list_to_json(summary.layer_fields);
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
    Json finding{{"path", shown_json(damage.path)}};
    if (!damage.key.empty()) finding["key"] = bytes_to_json(damage.key);
    if (!damage.field.empty()) finding["field"] = bytes_to_json(damage.field);
    if (damage.offset) finding["offset"] = *damage.offset;
    finding["what"] = shown_json(damage.what);
    finding["code"] = error_code_name(damage.code);
    findings.push_back(std::move(finding));
  }
  Json leftovers = Json::array();
  for (const std::string& path : report.leftovers) leftovers.push_back(shown_json(path));
  Json out{{"spec", shown_json(report.spec)},
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

}  // namespace

Json notices_json(const NoticeLog& notices) {
  Json reasons = Json::object();
  Json asked = Json::array();  // those of them that an option asks for, and remarks about such things
  for (const auto& [why, reason] : notices.reasons()) {
    reasons[printable(why)] = reason.count;
    if (reason.is_asked) asked.push_back(printable(why));
  }
  Json entries = Json::array();
  for (const Notice& notice : notices.kept())
    entries.push_back({{"name", shown_json(notice.name)}, {"why", shown_json(notice.why)}});
  Json warnings = Json::array();
  for (const Warning& warning : notices.warnings()) {
    if (warning.kind == WarningKind::asked) {
      asked.push_back(shown_json(warning.what));
    } else {
      warnings.push_back({{"path", shown_json(warning.place)}, {"what", shown_json(warning.what)}});
    }
  }
  return {{"ignored", notices.count()},
          {"reasons", reasons},
          {"asked", asked},
          {"entries", entries},
          {"unmatched", notices.count_of(WarningKind::no_match)},
          {"without_effect", notices.count_of(WarningKind::no_effect)},
          {"warnings", warnings}};
}

Json conditions_json(const ImageConditions& conditions) {
  Json out{{"complete", conditions.num_complete},
           {"incomplete", conditions.num_incomplete},
           {"undecodable", conditions.num_undecodable},
           {"unknown", conditions.num_unknown}};
  if (conditions.num_above_limit > 0) out["above_limit"] = conditions.num_above_limit;
  return out;
}

std::string summary_json(const DatasetSummary& summary) { return json_document(summary_object(summary)); }

std::string summaries_json(const std::string& spec, const std::vector<DatasetSummary>& summaries) {
  Json out{{"spec", shown_json(spec)}, {"samples", 0}, {"bytes", 0}, {"parts", Json::array()}};
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

}  // namespace bale
