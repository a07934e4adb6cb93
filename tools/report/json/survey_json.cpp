#include <algorithm>
#include <array>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/reader/check/report_json.hpp"
#include "bale/tools/report/json/json_output.hpp"
#include "bale/tools/report/text/survey_report.hpp"

namespace bale::tools {
namespace {

Json shown_text(std::string_view text) { return bytes_to_json(without_secrets(text)); }

Json image_json(const Survey& survey, std::uint64_t number) {
  const SurveyedImage& image = survey.images[number];
  const std::size_t part = survey.part_of(number);
  Json out{{"split", bytes_to_json(survey.parts[part].name)},
           {"index", number - survey.begins[part]},
           {"key", bytes_to_json(survey.key(number))},
           {"origin", shown_text(survey.origin(number))}};
  if (image.class_number != k_no_class) out["class"] = bytes_to_json(survey.classes[image.class_number]);
  out["width"] = image.width;
  out["height"] = image.height;
  out["bytes"] = image.bytes;
  return out;
}

Json part_json(const PartSummary& part) {
  return {{"images", part.num_images},
          {"bytes", part.bytes},
          {"corrupt", part.num_corrupt},
          {"unlabeled", part.num_unlabeled}};
}

Json splits_json(const SurveyReport& report) {
  Json splits = Json::array();
  for (std::size_t i = 0; i < report.survey.parts.size(); ++i) {
    const Source& source = *report.survey.parts[i].source;
    Json split{{"name", bytes_to_json(report.survey.parts[i].name)}};
    split.update(part_json(report.summary.parts[i]));
    Json losses = Json::array();
    for (const SourceLoss& loss : source.losses())
      losses.push_back({{"path", shown_text(loss.path)}, {"why", shown_text(loss.why)}});
    Json ignored = Json::object();
    for (const auto& [why, reason] : source.notices().reasons()) ignored[printable(why)] = reason.count;
    split["losses"] = std::move(losses);
    split["ignored"] = std::move(ignored);
    splits.push_back(std::move(split));
  }
  return splits;
}

Json classes_json(const SurveyReport& report) {
  Json classes = Json::array();
  for (std::size_t i = 0; i < report.survey.classes.size(); ++i) {
    Json counts = Json::array();
    for (const PartSummary& part : report.summary.parts) counts.push_back(part.class_counts[i]);
    classes.push_back({{"name", bytes_to_json(report.survey.classes[i])},
                       {"images", report.summary.all.class_counts[i]},
                       {"by_split", counts}});
  }
  return classes;
}

Json spread_json(const Spread& spread) {
  Json bins = Json::array();
  for (const Bin& bin : spread.bins) bins.push_back({{"from", bin.begin}, {"below", bin.end}, {"images", bin.count}});
  return {{"min", spread.min}, {"median", spread.median}, {"max", spread.max}, {"histogram", std::move(bins)}};
}

Json counts_json(const std::vector<NamedCount>& counts) {
  Json out = Json::object();
  for (const NamedCount& count : counts) out[count.name] = count.count;
  return out;
}

Json remarks_json(const SurveyReport& report) {
  Json remarks = Json::object();
  for (unsigned number = 0; number < k_num_remarks; ++number) {
    const auto remark = static_cast<Remark>(number);
    if (report.summary.remarks[number] == 0) continue;
    Json images = Json::array();
    for (std::uint64_t i = 0; i < report.survey.images.size(); ++i) {
      if (!report.survey.images[i].remarks.has(remark)) continue;
      Json image = image_json(report.survey, i);
      const auto why = report.survey.reasons.find(i);
      if (is_corrupt(remark) && why != report.survey.reasons.end()) image["why"] = shown_text(why->second);
      images.push_back(std::move(image));
    }
    remarks[std::string(remark_name(remark))] = std::move(images);
  }
  return remarks;
}

Json duplicates_json(const SurveyReport& report) {
  const Duplicates& duplicates = report.duplicates;
  Json groups = Json::array();
  for (const DuplicateGroup& group : duplicates.groups) {
    Json images = Json::array();
    for (const std::uint64_t image : group.images) images.push_back(image_json(report.survey, image));
    Json pairs = Json::array();
    const auto place = [&](std::uint64_t image) {
      return std::lower_bound(group.images.begin(), group.images.end(), image) - group.images.begin();
    };
    for (const NearPair& pair : group.pairs) {
      pairs.push_back({{"whole", place(pair.whole)},
                       {"part", place(pair.part)},
                       {"similarity", pair.similarity},
                       {"window", Json::list_of(std::array{pair.window.left, pair.window.top, pair.window.right,
                                                           pair.window.bottom})},
                       {"mirrored", pair.is_mirrored}});
    }
    groups.push_back({{"exact", group.is_exact},
                      {"labels_conflict", group.has_conflict},
                      {"spans_splits", group.spans_parts},
                      {"images", std::move(images)},
                      {"pairs", std::move(pairs)}});
  }
  Json leaks = Json::array();
  for (const Leak& leak : duplicates.leaks) {
    leaks.push_back({{"split", bytes_to_json(report.survey.parts[leak.part].name)},
                     {"also_in", bytes_to_json(report.survey.parts[leak.other].name)},
                     {"exact", leak.num_exact},
                     {"near", leak.num_near}});
  }
  return {{"exact", duplicates.num_exact},
          {"near", duplicates.has_near ? Json(duplicates.num_near) : Json()},
          {"conflicting_groups", duplicates.num_conflicting},
          {"not_all_compared", duplicates.num_cut},
          {"leaks", std::move(leaks)},
          {"groups", std::move(groups)}};
}

}  // namespace

std::string survey_json(const SurveyReport& report) {
  const SurveySummary& summary = report.summary;
  Json findings = Json::array();
  for (const Finding& finding : findings_of(report))
    findings.push_back({{"tone", finding.tone}, {"text", shown_text(finding.text)}});
  Json sizes = Json::array();
  for (const ImageSize& size : summary.common_sizes) {
    sizes.push_back({{"width", size.width}, {"height", size.height}, {"images", size.count}});
  }
  Json orientations = Json::object();
  for (std::size_t i = 1; i < summary.orientations.size(); ++i) {
    if (summary.orientations[i] > 0) orientations[std::to_string(i)] = summary.orientations[i];
  }
  Json out = part_json(summary.all);
  out.update({{"suspicious", summary.num_remarked},
              {"findings", std::move(findings)},
              {"notices", notices_json(report.ledger)},
              {"splits", splits_json(report)},
              {"classes", classes_json(report)},
              {"width", spread_json(summary.widths)},
              {"height", spread_json(summary.heights)},
              {"file_bytes", spread_json(summary.bytes)},
              {"aspects", counts_json(summary.aspects)},
              {"common_sizes", std::move(sizes)},
              {"kinds", counts_json(summary.kinds)},
              {"jpeg",
               {{"images", summary.num_jpegs},
                {"progressive", summary.num_progressive},
                {"sampling", counts_json(summary.samplings)}}},
              {"orientations", std::move(orientations)},
              {"remarks", remarks_json(report)},
              {"duplicates", duplicates_json(report)}});
  return json_document(out);
}

}  // namespace bale::tools
