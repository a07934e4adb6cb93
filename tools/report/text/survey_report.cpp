#include "bale/tools/report/text/survey_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/text/human.hpp"

namespace bale::tools {
namespace {

constexpr double k_imbalance = 10;

std::string leak_text(const SurveyReport& report, const Leak& leak) {
  const auto name = [&](std::size_t part) { return report.survey.parts[part].name; };
  const std::uint64_t count = leak.num_exact + leak.num_near;
  return fmt::format("{} of {} {} also in {}: {} with the same bytes, {} that {} the same.", plural(count, "image"),
                     name(leak.part), count == 1 ? "is" : "are", name(leak.other), human_count(leak.num_exact),
                     human_count(leak.num_near), leak.num_near == 1 ? "looks" : "look");
}

/// Of two leaks between the same parts, the one of the smaller part: an evaluation suffers from it.
std::vector<Leak> leaks_to_name(const SurveyReport& report) {
  std::vector<Leak> leaks;
  for (const Leak& leak : report.duplicates.leaks) {
    const auto images = [&](std::size_t part) { return report.summary.parts[part].num_images; };
    const std::uint64_t here = images(leak.part);
    const std::uint64_t there = images(leak.other);
    if (here < there || (here == there && leak.part > leak.other)) leaks.push_back(leak);
  }
  return leaks;
}

void add_class_findings(const SurveyReport& report, std::vector<Finding>& findings) {
  const std::vector<std::uint64_t>& counts = report.summary.all.class_counts;
  if (counts.empty()) return;
  const auto [fewest, most] = std::minmax_element(counts.begin(), counts.end());
  const auto name = [&](auto at) { return report.survey.classes[static_cast<std::size_t>(at - counts.begin())]; };
  if (*fewest == 0) {
    const auto empty = static_cast<std::uint64_t>(std::count(counts.begin(), counts.end(), 0U));
    findings.push_back(
        {"warn", "classes", fmt::format("{} without images, the first: {}.", plural(empty, "class"), name(fewest))});
  } else if (static_cast<double>(*most) >= k_imbalance * static_cast<double>(*fewest)) {
    findings.push_back({"warn", "classes",
                        fmt::format("Classes are unbalanced: {} has {}, {} has {}.", name(most), plural(*most, "image"),
                                    name(fewest), human_count(*fewest))});
  }
  if (report.survey.parts.size() < 2) return;
  for (std::size_t part = 0; part < report.survey.parts.size(); ++part) {
    const std::vector<std::uint64_t>& here = report.summary.parts[part].class_counts;
    std::uint64_t missing = 0;
    for (std::size_t i = 0; i < here.size(); ++i) missing += here[i] == 0 && counts[i] > 0 ? 1 : 0;
    if (missing > 0) {
      findings.push_back({"warn", "classes",
                          fmt::format("{} of the other splits {} no image in {}.", plural(missing, "class"),
                                      missing == 1 ? "has" : "have", report.survey.parts[part].name)});
    }
  }
}

void add_remark_findings(const SurveyReport& report, std::vector<Finding>& findings) {
  for (unsigned number = 0; number < k_num_remarks; ++number) {
    const auto remark = static_cast<Remark>(number);
    const std::uint64_t count = report.summary.remarks[number];
    if (count == 0 || is_corrupt(remark)) continue;
    findings.push_back(
        {"warn", "suspicious",
         fmt::format("{}: {}. {}", remark_title(remark), plural(count, "image"), remark_reason(remark))});
  }
}

}  // namespace

std::string class_title(const Survey& survey, std::uint64_t image) {
  const std::uint32_t number = survey.images[image].class_number;
  return number == k_no_class ? std::string("no label") : survey.classes[number];
}

namespace {

/// What the sources have and do not deliver, unless that was asked for, and their remarks.
void add_ledger_findings(const SurveyReport& report, std::vector<Finding>& findings) {
  for (const auto& [why, reason] : report.ledger.reasons()) {
    if (reason.is_asked) continue;
    findings.push_back({"warn", "overview",
                        fmt::format("{} ignored: {}, such as {}.", plural(reason.count, "path"), why, reason.example)});
  }
  for (const Warning& warning : report.ledger.warnings()) {
    if (warning.kind == WarningKind::asked) continue;
    findings.push_back({"warn", "overview", fmt::format("{}: {}.", warning.place, report.options.shown(warning.what))});
  }
}

}  // namespace

std::string losses_text(const SurveyPart& part) {
  const std::vector<SourceLoss> losses = part.source->losses();
  if (losses.empty()) return {};
  const SourceLoss& loss = losses.front();
  const std::string first = loss.why.starts_with(loss.path) ? loss.why : loss.path + ": " + loss.why;
  return fmt::format("{} of {} cannot be read, the first: {}", plural(losses.size(), "shard or folder"), part.name,
                     first);
}

std::vector<Finding> findings_of(const SurveyReport& report) {
  std::vector<Finding> findings;
  const Duplicates& duplicates = report.duplicates;
  for (const Leak& leak : leaks_to_name(report)) findings.push_back({"bad", "duplicates", leak_text(report, leak)});
  if (report.summary.all.num_corrupt > 0) {
    const std::uint64_t count = report.summary.all.num_corrupt;
    findings.push_back({"bad", "corrupt", fmt::format("{} cannot be used.", plural(count, "image"))});
  }
  for (const SurveyPart& part : report.survey.parts) {
    if (std::string losses = losses_text(part); !losses.empty()) {
      findings.push_back({"bad", "corrupt", std::move(losses)});
    }
  }
  if (duplicates.num_conflicting > 0) {
    const std::uint64_t count = duplicates.num_conflicting;
    findings.push_back(
        {"bad", "duplicates",
         fmt::format("{} of duplicates {} different labels.", plural(count, "group"), count == 1 ? "has" : "have")});
  }
  if (duplicates.num_exact + duplicates.num_near > 0) {
    const std::uint64_t count = duplicates.num_exact + duplicates.num_near;
    const std::string near =
        duplicates.has_near ? fmt::format(", {} by their looks", human_count(duplicates.num_near)) : std::string();
    findings.push_back({"warn", "duplicates",
                        fmt::format("{} {} of another image: {} by their bytes{}. `bale dedup` lists them for "
                                    "--exclude-from.",
                                    plural(count, "image"), count == 1 ? "is a duplicate" : "are duplicates",
                                    human_count(duplicates.num_exact), near)});
  }
  if (duplicates.num_cut > 0) {
    findings.push_back({"warn", "duplicates",
                        fmt::format("{} so many others that not all of them were compared.",
                                    duplicates.num_cut == 1 ? "1 image resembles"
                                                            : plural(duplicates.num_cut, "image") + " resemble")});
  }
  add_ledger_findings(report, findings);
  add_class_findings(report, findings);
  add_remark_findings(report, findings);
  if (findings.empty()) findings.push_back({"good", "overview", "Nothing to complain about."});
  return findings;
}

}  // namespace bale::tools
