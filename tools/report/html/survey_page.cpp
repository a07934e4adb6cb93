#include "bale/tools/report/html/pages.hpp"

#include <fmt/format.h>

#include "bale/formats/base/text/human.hpp"
#include "bale/tools/report/html/page.hpp"
#include "bale/tools/report/html/survey_sections.hpp"
#include "bale_version.hpp"

namespace bale::tools {

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
                              k_version_text));
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
