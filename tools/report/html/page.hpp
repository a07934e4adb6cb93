// An HTML page that needs nothing else: no script, no other file, light or dark as the reader's system is.
//
// Texts from a dataset go through html_text(), so that a name is never taken as markup. The page also forbids scripts
// and requests by its content security policy.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bale/formats/base/bytes.hpp"
#include "bale/tools/measure/bench_stages.hpp"
#include "bale/tools/measure/trials/examination.hpp"
#include "bale/tools/report/text/bench_report.hpp"
#include "bale/tools/report/text/survey_report.hpp"
#include "bale/tools/survey/survey.hpp"
#include "bale/tools/survey/survey_summary.hpp"

namespace bale::tools {

/// `raw` as text of an element or of an attribute in double quotes: printable(), and & < > " ' as references.
std::string html_text(std::string_view raw);

/// The same, with what is in backticks as <code>.
std::string html_sentence(std::string_view raw);

/// The page with this title and these elements in its body.
std::string html_page(std::string_view title, std::string_view body);

/// The end of a page: what `made` says, which is markup, and the day (UTC, or that of SOURCE_DATE_EPOCH), the machine
/// and its cores.
std::string html_footer(std::string_view made);

/// One figure among several in a row. `tone`: "", "good", "warn" or "bad".
std::string html_tile(std::string_view figure, std::string_view what, std::string_view tone,
                      std::string_view note = {});

/// A section with an anchor. The heading is text.
std::string html_section(std::string_view id, std::string_view heading, std::string_view body);

/// The base64 of `bytes`.
std::string base64(std::string_view bytes);

// The style sheet of every page.

extern const std::string_view k_page_style;

// Charts as inline SVG, in the page's colors. Each value is also in a tooltip or in a column next to it.

/// How a number is written: human_bytes() or the like.
using ShowNumber = std::string (*)(std::uint64_t);

/// One bar per bin. Empty without values.
std::string histogram_svg(const Spread& spread, std::string_view label, ShowNumber show);

/// A bar over the whole width, `share` (0..1) of it filled.
std::string bar_svg(double share, std::string_view label);

/// A table with a bar per row. `total`: what percentages are of; 0: none are shown. `most`: the count of a bar over the
/// whole width, for tables that are compared; 0: the largest of these rows.
std::string bar_table(std::span<const NamedCount> rows, std::uint64_t total, std::uint64_t most = 0);

/// Values from large to small as an area. `sorted` must not be empty.
std::string curve_svg(std::span<const std::uint64_t> sorted, std::string_view label);

// Small pictures of samples for a page, as data: URIs.

/// An <img> of a stored image, a JPEG of at most 144 pixels on its longer side. `alt` names it where no caption does.
/// The image is decoded at a fraction of its size that leaves its shorter side `min_side` pixels, if it has as many.
/// Throws what decode_image() throws.
std::string picture_element(Bytes stored, std::uint32_t min_side, std::string_view alt = {});

/// What stands where there is no picture.
extern const std::string_view k_no_picture;

/// Reads samples again, and makes a JPEG of at most 144 pixels on its longer side. Used by one thread at a time.
class Pictures {
 public:
  explicit Pictures(const Survey& survey) : survey_(survey) {}

  /// An <img>, or a placeholder with the reason if there is no picture. The image is upright only if its pixels are.
  std::string element(std::uint64_t image, std::string_view alt = {});
  /// How many pictures were made.
  std::uint64_t count() const { return count_; }

 private:
  std::string make(std::uint64_t image, std::string_view alt);

  const Survey& survey_;
  Scratch scratch_;
  std::uint64_t count_ = 0;
};

// The pages: the report on a dataset, and the stages of loading.

struct PageLimits {
  std::uint64_t pictures_per_class = 0;  // 0: 12, and fewer of many classes
  std::uint64_t listed = 50;             // images per remark, and groups of duplicates per kind
};

/// Reads the samples that it shows again. Lists that are cut say so.
std::string survey_page(const SurveyReport& report, const PageLimits& limits);

/// The stages of loading as a page: how long each takes per image, which one is the slowest, and what to try.
/// `headline` is the setting of the measurement in one line. `peers` are shown next to bale's whole pipeline.
std::string bench_page(const std::string& headline, std::span<const MeasuredStage> stages,
                       const std::optional<DeviceFigures>& device, std::span<const PeerFigure> peers);
std::string doctor_page(const std::string& headline, const PipelineCommand& pipeline, const Examination& examined,
                        std::span<const PeerFigure> peers);

}  // namespace bale::tools
