#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "bale/formats/base/text/human.hpp"
#include "bale/formats/base/version.hpp"
#include "bale/tools/report/html/page.hpp"

namespace bale::tools {
namespace {

constexpr std::size_t k_max_class_bars = 40;
constexpr std::uint64_t k_max_sheet_pictures = 1500;
constexpr std::uint64_t k_usual_per_class = 12;
constexpr std::uint64_t k_max_sheets = 1500;
constexpr std::size_t k_max_in_group = 12;

/// An image with its split, class, name, size and bytes, and a note.
std::string image_figure(const Survey& survey, std::uint64_t number, Pictures& pictures, const std::string& note = {}) {
  const SurveyedImage& image = survey.images[number];
  std::string caption;
  if (survey.parts.size() > 1) {
    caption += fmt::format("<b><bdi>{}</bdi></b> &middot; ", html_text(survey.parts[survey.part_of(number)].name));
  }
  caption += fmt::format("<bdi>{}</bdi><br><bdi>{}</bdi><br>", html_text(class_title(survey, number)),
                         html_text(survey.key(number)));
  if (image.width > 0) caption += fmt::format("{}&nbsp;&times;&nbsp;{}, ", image.width, image.height);
  caption += html_text(human_bytes(image.bytes));
  if (!note.empty()) caption += fmt::format("<br><b>{}</b>", html_text(note));
  return fmt::format("<figure title=\"{}\">{}<figcaption>{}</figcaption></figure>\n", html_text(survey.origin(number)),
                     pictures.element(number), caption);
}

/// "and 12 more; --json has all of them"; empty if `count` is 0.
std::string more_note(std::uint64_t count, const std::string& noun) {
  if (count == 0) return {};
  return fmt::format(
      "<p class=\"note\">and {} more; <code>--limit</code> shows more of them, <code>--json</code> lists all</p>\n",
      plural(count, noun));
}

std::string tile_of(std::uint64_t count, const char* what, const char* tone, const std::string& note = {}) {
  return html_tile(human_count(count), what, count > 0 ? tone : "good", note);
}

std::string tiles(const SurveyReport& report) {
  const SurveySummary& summary = report.summary;
  const Duplicates& duplicates = report.duplicates;
  std::uint64_t leaked = 0;
  for (const DuplicateGroup& group : duplicates.groups) leaked += group.spans_parts ? 1 : 0;
  std::string body = "<div class=\"tiles\">\n";
  body += html_tile(human_count(summary.all.num_images), "images", "",
                    report.survey.parts.size() > 1 ? plural(report.survey.parts.size(), "split") : std::string());
  body += html_tile(
      human_count(report.survey.classes.size()), "classes", "",
      summary.all.num_unlabeled > 0 ? human_count(summary.all.num_unlabeled) + " without a label" : std::string());
  body += html_tile(human_bytes(summary.all.bytes), "of images", "");
  body += tile_of(summary.all.num_corrupt, "cannot be used", "bad");
  body += tile_of(summary.num_remarked, "suspicious", "warn");
  body += tile_of(duplicates.num_exact, "exact duplicates", "warn");
  if (duplicates.has_near) body += tile_of(duplicates.num_near, "near duplicates", "warn");
  if (report.survey.parts.size() > 1) body += tile_of(leaked, "leaks between splits", "bad", "groups of duplicates");
  body += tile_of(duplicates.num_conflicting, "label conflicts", "bad", "groups of duplicates");
  return body + "</div>\n";
}

std::string findings_list(const SurveyReport& report) {
  std::string list = "<ul class=\"findings\">\n";
  for (const Finding& finding : findings_of(report)) {
    list += fmt::format("<li class=\"{}\">{}{}</li>\n", finding.tone, html_sentence(finding.text),
                        std::string_view(finding.tone) == "good"
                            ? std::string()
                            : fmt::format(" <a href=\"#{}\">Show</a>", finding.section));
  }
  return list + "</ul>\n";
}

std::string split_table(const SurveyReport& report) {
  std::string table =
      "<div class=\"card scroll\" style=\"margin-top:14px\"><table>\n<tr><th>Split</th><th class=\"n\">Images</th><th "
      "class=\"n\">Bytes</th><th class=\"n\">Cannot be used</th><th class=\"n\">Without a label</th></tr>\n";
  for (std::size_t i = 0; i < report.survey.parts.size(); ++i) {
    const PartSummary& part = report.summary.parts[i];
    table += fmt::format(
        "<tr><th scope=\"row\" class=\"name\"><bdi>{}</bdi></th><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td><td "
        "class=\"n\">{}</td></tr>\n",
        html_text(report.survey.parts[i].name), human_count(part.num_images), html_text(human_bytes(part.bytes)),
        human_count(part.num_corrupt), human_count(part.num_unlabeled));
  }
  return table + "</table></div>\n";
}

std::string chart_card(std::string_view heading, const std::string& chart, const std::string& note = {}) {
  return fmt::format("<div class=\"card\"><h3>{}</h3>{}{}</div>\n", html_text(heading), chart,
                     note.empty() ? std::string() : fmt::format("<p class=\"note\">{}</p>", html_text(note)));
}

std::string spread_card(std::string_view heading, const Spread& spread, ShowNumber show) {
  if (spread.num_values == 0) return {};
  return chart_card(heading, histogram_svg(spread, heading, show),
                    fmt::format("from {} to {}, median {}", show(spread.min), show(spread.max), show(spread.median)));
}

/// Figures, findings and splits.
std::string overview_section(const SurveyReport& report) {
  std::string body = fmt::format("<h1>Report on <bdi>{}</bdi></h1>\n", html_text(report.title));
  body += "<section id=\"overview\">\n" + tiles(report) + findings_list(report);
  if (report.survey.parts.size() > 1) body += split_table(report);
  return body + "</section>\n";
}

std::string classes_section(const SurveyReport& report) {
  if (report.survey.classes.empty()) return {};
  std::vector<NamedCount> counts;
  for (std::size_t i = 0; i < report.survey.classes.size(); ++i) {
    counts.push_back({.name = report.survey.classes[i], .count = report.summary.all.class_counts[i]});
  }
  std::stable_sort(counts.begin(), counts.end(),
                   [](const NamedCount& a, const NamedCount& b) { return a.count > b.count; });
  const std::uint64_t total = report.summary.all.num_images;
  if (counts.size() <= k_max_class_bars) {
    return html_section("classes", "Class balance",
                        "<div class=\"card scroll\">" + bar_table(counts, total) + "</div>\n");
  }
  std::vector<std::uint64_t> sorted;
  for (const NamedCount& count : counts) sorted.push_back(count.count);
  constexpr std::size_t k_ends = 8;
  const std::span<const NamedCount> all(counts);
  const std::uint64_t most = counts.front().count;  // bars of the largest and the smallest are compared
  std::string body = "<div class=\"grid\">\n" + chart_card("Images per class", curve_svg(sorted, "Images per class")) +
                     chart_card("Largest classes", bar_table(all.first(k_ends), total, most)) +
                     chart_card("Smallest classes", bar_table(all.last(k_ends), total, most)) + "</div>\n";
  std::string rows;
  for (const NamedCount& count : counts) {
    rows += fmt::format("<tr><th scope=\"row\" class=\"name\"><bdi>{}</bdi></th><td class=\"n\">{}</td></tr>\n",
                        html_text(count.name), human_count(count.count));
  }
  body += fmt::format(
      "<details><summary>All {} classes</summary><div class=\"card scroll\"><table>{}</table></div></details>\n",
      human_count(counts.size()), rows);
  return html_section("classes", "Class balance", body);
}

std::string sizes_section(const SurveyReport& report) {
  const SurveySummary& summary = report.summary;
  std::vector<NamedCount> sizes;
  for (const ImageSize& size : summary.common_sizes) {
    sizes.push_back({.name = fmt::format("{} × {}", size.width, size.height), .count = size.count});
  }
  const std::uint64_t measured = summary.widths.num_values;
  std::string body = "<div class=\"grid\">\n" + spread_card("Width in pixels", summary.widths, human_count) +
                     spread_card("Height in pixels", summary.heights, human_count) +
                     spread_card("Bytes per image", summary.bytes, human_bytes);
  if (measured > 0) {
    body += chart_card("Aspect ratio", bar_table(summary.aspects, measured));
    body += chart_card("Most frequent sizes", bar_table(sizes, measured),
                       fmt::format("{} different sizes", human_count(summary.num_sizes)));
  }
  return html_section("sizes", "Sizes", body + "</div>\n");
}

std::string formats_section(const SurveyReport& report) {
  const SurveySummary& summary = report.summary;
  std::string body = "<div class=\"grid\">\n" + chart_card("Kinds", bar_table(summary.kinds, summary.all.num_images));
  if (summary.num_jpegs > 0) {
    const std::vector<NamedCount> coding{{"baseline", summary.num_jpegs - summary.num_progressive},
                                         {"progressive", summary.num_progressive}};
    body += chart_card("JPEG coding", bar_table(coding, summary.num_jpegs));
    body += chart_card("JPEG colors and chroma subsampling", bar_table(summary.samplings, summary.num_jpegs));
  }
  const std::vector<NamedCount> turns{
      {"upright or not stated", summary.orientations[1]}, {"mirrored (2)", summary.orientations[2]},
      {"turned by 180° (3)", summary.orientations[3]},    {"mirrored top to bottom (4)", summary.orientations[4]},
      {"mirrored, turned (5)", summary.orientations[5]},  {"turned by 90° (6)", summary.orientations[6]},
      {"mirrored, turned (7)", summary.orientations[7]},  {"turned by 270° (8)", summary.orientations[8]}};
  std::vector<NamedCount> stated;
  for (const NamedCount& turn : turns) {
    if (turn.count > 0) stated.push_back(turn);
  }
  body += chart_card("Orientation in the metadata", bar_table(stated, summary.all.num_images));
  return html_section("formats", "Formats", body + "</div>\n");
}

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

/// What cannot be used, and what is suspicious.
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

/// Contact sheets of the classes.
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

}  // namespace

std::string survey_page(const SurveyReport& report, const PageLimits& limits) {
  Pictures pictures(report.survey);
  std::string body = overview_section(report);
  body += duplicates_section(report, limits, pictures);
  body += remark_sections(report, limits, pictures);
  body += classes_section(report);
  body += sizes_section(report);
  body += formats_section(report);
  body += sheets_section(report, limits, pictures);
  body +=
      html_footer(fmt::format("Made by bale {}. Every image was read and decoded at reduced size; "
                              "<code>bale verify --decode</code> decodes all of it.",
                              version()));
  return html_page("Report on " + report.title, body);
}

}  // namespace bale::tools
