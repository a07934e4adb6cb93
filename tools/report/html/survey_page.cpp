#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/text/human.hpp"
#include "bale/formats/base/version.hpp"
#include "bale/tools/report/html/charts.hpp"
#include "bale/tools/report/html/page.hpp"
#include "bale/tools/report/html/pages.hpp"
#include "bale/tools/report/html/survey_sections.hpp"

namespace bale::tools {
namespace {

constexpr std::size_t k_max_class_bars = 40;

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

}  // namespace

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

std::string image_figure(const Survey& survey, std::uint64_t number, Pictures& pictures, const std::string& note) {
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

std::string more_note(std::uint64_t count, const std::string& noun) {
  if (count == 0) return {};
  return fmt::format(
      "<p class=\"note\">and {} more; <code>--limit</code> shows more of them, <code>--json</code> lists all</p>\n",
      plural(count, noun));
}

}  // namespace bale::tools
