#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "bale/formats/base/text/human.hpp"
#include "bale/tools/report/html/page.hpp"
#include "bale/tools/report/html/survey_sections.hpp"

namespace bale::tools {
namespace {

constexpr std::uint64_t k_max_sheet_pictures = 1500;
constexpr std::uint64_t k_usual_per_class = 12;
constexpr std::uint64_t k_max_sheets = 1500;
constexpr std::size_t k_max_in_group = 12;

std::string remark_card(const SurveyReport& report, Remark remark, const PageLimits& limits, Pictures& pictures) {
  const Survey& survey = report.survey;
  const std::uint64_t count = report.summary.remarks[static_cast<std::size_t>(remark)];
  std::string sheet;
  std::uint64_t shown = 0;
  for (std::uint64_t i = 0; i < survey.images.size() && shown < limits.listed; ++i) {
    if (!survey.images[i].remarks.has(remark)) continue;
    const auto why = survey.reasons.find(i);
    sheet += image_figure(survey, i, pictures,
                          is_corrupt(remark) && why != survey.reasons.end() ? why->second : std::string());
    ++shown;
  }
  return fmt::format(
      "<div class=\"card{}\"><h3>{} <span class=\"tag {}\">{}</span></h3><p class=\"note\">{}</p><div "
      "class=\"sheet\">{}</div>{}"
      "</div>\n",
      shown > 2 ? " wide" : "", html_text(remark_title(remark)), is_corrupt(remark) ? "bad" : "warn",
      human_count(count), html_sentence(remark_reason(remark)), sheet, more_note(count - shown, "image"));
}

std::string losses_card(const SurveyReport& report) {
  std::string rows;
  for (const SurveyPart& part : report.survey.parts) {
    for (const SourceLoss& loss : part.source->losses()) {
      rows += fmt::format("<tr><th scope=\"row\" class=\"name\"><code>{}</code></th><td class=\"name\">{}</td></tr>\n",
                          html_text(loss.path), html_text(loss.why));
    }
  }
  if (rows.empty()) return {};
  return fmt::format(
      "<div class=\"card wide\"><h3>Directories and shards that cannot be read</h3><table>{}</table></div>\n", rows);
}

/// What an image of a group is to the others.
std::string relation_of(const DuplicateGroup& group, const Survey& survey, std::uint64_t image) {
  for (const std::uint64_t other : group.images) {
    if (other == image) break;
    if (survey.images[other].digest == survey.images[image].digest) return "same bytes";
  }
  const NearPair* best = nullptr;
  for (const NearPair& pair : group.pairs) {
    const bool is_shown_here = pair.part == image || (pair.whole == image && pair.part < image);
    if (is_shown_here && (best == nullptr || pair.similarity > best->similarity)) best = &pair;
  }
  if (best == nullptr) return {};
  std::string text = fmt::format("similarity {:.3f}", best->similarity);
  const double side = std::min(best->window.right - best->window.left, best->window.bottom - best->window.top);
  if (best->part == image && side < 0.985) text = fmt::format("crop of {:.0f}%, ", side * 100) + text;
  if (best->is_mirrored) text = "mirrored, " + text;
  return text;
}

std::string group_block(const SurveyReport& report, const DuplicateGroup& group, Pictures& pictures) {
  std::string tags;
  if (group.spans_parts) tags += "<span class=\"tag bad\">in several splits</span>";
  if (group.has_conflict) tags += "<span class=\"tag bad\">labels differ</span>";
  tags += group.is_exact ? "<span class=\"tag\">same bytes</span>" : "<span class=\"tag\">look the same</span>";
  std::string sheet;
  const std::size_t shown = std::min(group.images.size(), k_max_in_group);
  for (std::size_t i = 0; i < shown; ++i) {
    sheet += image_figure(report.survey, group.images[i], pictures,
                          group.is_exact ? std::string() : relation_of(group, report.survey, group.images[i]));
  }
  return fmt::format("<div class=\"group{}\">{}<span class=\"tag\">{}</span><div class=\"sheet\">{}</div>{}</div>\n",
                     shown > 2 ? " wide" : "", tags, plural(group.images.size(), "image"), sheet,
                     more_note(group.images.size() - shown, "image"));
}

struct GroupKind {
  const char* heading;
  const char* note;
  bool (*fits)(const DuplicateGroup&);
};

/// A group is shown under the first kind that fits.
constexpr GroupKind k_group_kinds[] = {
    {"Leaks between splits", "The same picture in two splits: what is measured on one of them was seen in the other.",
     [](const DuplicateGroup& group) { return group.spans_parts; }},
    {"Label conflicts",
     "The same picture with different labels: at most one of them is right, or the picture has several.",
     [](const DuplicateGroup& group) { return group.has_conflict; }},
    {"Near duplicates", "Pictures that look the same: encoded again, of another size, cropped.",
     [](const DuplicateGroup& group) { return !group.is_exact; }},
    {"Exact duplicates", "Pictures with the same bytes.", [](const DuplicateGroup&) { return true; }},
};

}  // namespace

std::string remark_sections(const SurveyReport& report, const PageLimits& limits, Pictures& pictures) {
  std::string corrupt = losses_card(report);
  std::string suspicious;
  for (unsigned number = 0; number < k_num_remarks; ++number) {
    if (report.summary.remarks[number] == 0) continue;
    const auto remark = static_cast<Remark>(number);
    (is_corrupt(remark) ? corrupt : suspicious) += remark_card(report, remark, limits, pictures);
  }
  std::string sections;
  if (!corrupt.empty())
    sections += html_section("corrupt", "Cannot be used", "<div class=\"grid\">" + corrupt + "</div>");
  if (!suspicious.empty())
    sections += html_section("suspicious", "Suspicious", "<div class=\"grid\">" + suspicious + "</div>");
  return sections;
}

std::string duplicates_section(const SurveyReport& report, const PageLimits& limits, Pictures& pictures) {
  std::vector<const DuplicateGroup*> left;
  for (const DuplicateGroup& group : report.duplicates.groups) left.push_back(&group);
  std::string body;
  for (const GroupKind& kind : k_group_kinds) {
    const auto end =
        std::stable_partition(left.begin(), left.end(), [&](const DuplicateGroup* g) { return kind.fits(*g); });
    const std::vector<const DuplicateGroup*> fitting(left.begin(), end);
    left.erase(left.begin(), end);
    if (fitting.empty()) continue;
    std::string blocks;
    const std::size_t shown = std::min<std::size_t>(fitting.size(), limits.listed);
    for (std::size_t i = 0; i < shown; ++i) blocks += group_block(report, *fitting[i], pictures);
    body += fmt::format(
        "<div class=\"card\"><h3>{} <span class=\"tag\">{}</span></h3><p class=\"note\">{}</p><div "
        "class=\"groups\">{}</div>{}</div>\n",
        kind.heading, plural(fitting.size(), "group"), kind.note, blocks, more_note(fitting.size() - shown, "group"));
  }
  return body.empty() ? std::string() : html_section("duplicates", "Duplicates", body);
}

std::string sheets_section(const SurveyReport& report, const PageLimits& limits, Pictures& pictures) {
  const Survey& survey = report.survey;
  std::map<std::string, std::vector<std::uint64_t>> images_of;  // by the title of the class
  for (std::uint64_t i = 0; i < survey.images.size(); ++i) {
    if (survey.images[i].is_decoded) images_of[class_title(survey, i)].push_back(i);
  }
  if (images_of.empty()) return {};
  const std::uint64_t fitting = std::max<std::uint64_t>(1, k_max_sheet_pictures / images_of.size());
  const std::uint64_t per_class =
      limits.pictures_per_class != 0 ? limits.pictures_per_class : std::min(k_usual_per_class, fitting);
  std::string body;
  std::uint64_t number = 0;
  for (const auto& [title, images] : images_of) {
    if (++number > k_max_sheets) break;
    std::string sheet;
    for (const std::uint64_t place : spread_choice(images.size(), per_class)) {
      sheet += fmt::format("<figure title=\"{}\">{}</figure>\n", html_text(survey.origin(images[place])),
                           pictures.element(images[place], survey.key(images[place])));
    }
    body += fmt::format(
        "<details{}><summary><bdi>{}</bdi> <span class=\"dim\">{}</span></summary><div class=\"sheet\">{}</div>"
        "</details>\n",
        number <= 10 ? " open" : "", html_text(title), human_count(images.size()), sheet);
  }
  const std::uint64_t hidden = images_of.size() > k_max_sheets ? images_of.size() - k_max_sheets : 0;
  if (hidden > 0)
    body += fmt::format("<p class=\"note\">and {} more, which have no sheet here</p>\n", plural(hidden, "class"));
  return html_section("sheets", "Contact sheets", "<div class=\"card\">" + body + "</div>\n");
}

}  // namespace bale::tools
