#include "bale/reader/check/notice_lines.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/escaped_bytes.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/base/text/key_text.hpp"

namespace bale {
namespace {

std::string what_is_wrong(const ImageConditions::Unusable& image, std::uint64_t max_pixels) {
  if (image.condition == ImageCondition::incomplete) return "is incomplete";
  if (image.condition == ImageCondition::undecodable) return "cannot be decoded";
  return fmt::format("of {}x{} pixels is above the limit of {} pixels (`max_pixels`)", image.width, image.height,
                     max_pixels);
}

}  // namespace

Lines notice_lines(const NoticeLog& notices, const std::string& noun, const OptionNames& options) {
  constexpr std::size_t k_max_warnings = 20;
  constexpr std::size_t k_shown_example = 300;
  Lines lines;
  for (const auto& [why, reason] : notices.reasons()) {
    const std::string example =
        reason.example.empty() ? "" : fmt::format(" (such as {})", excerpt(printable(reason.example), k_shown_example));
    lines.push_back(fmt::format("{} {}: {}{}", reason.is_asked ? "left out" : "ignored", plural(reason.count, noun),
                                options.shown(printable(why)), example));
  }
  const auto& warnings = notices.warnings();
  for (std::size_t i = 0; i < std::min(warnings.size(), k_max_warnings); ++i) {
    const std::string place = warnings[i].place.empty() ? "" : shown_name(warnings[i].place) + ": ";
    lines.push_back(place + options.shown(printable(warnings[i].what)));
  }
  if (warnings.size() > k_max_warnings) {
    lines.push_back(fmt::format("and {} more", plural(warnings.size() - k_max_warnings, "warning")));
  }
  return lines;
}

void require_all_taken(const NoticeLog& notices, const std::string& noun) {
  if (!notices.has_unasked()) return;
  std::uint64_t num_ignored = 0;
  for (const auto& [why, reason] : notices.reasons()) num_ignored += reason.is_asked ? 0 : reason.count;
  throw Error(ErrorCode::unsupported,
              fmt::format("`strict`: {} ignored, and {}, as the lines before say", plural(num_ignored, noun),
                          plural(notices.warnings().size() - notices.count_of(WarningKind::asked), "warning")),
              {.hint = "correct or exclude what they name, or leave `strict` out"});
}

Lines where_lines(const WhereCounts& counts) {
  if (counts.num_left_out == 0) return {};
  const std::string unknown =
      counts.num_unknown == 0
          ? std::string{}
          : fmt::format(", {} because a value that the condition names is unknown", human_count(counts.num_unknown));
  return {fmt::format("{} of {} left out{}", human_count(counts.num_left_out), plural(counts.num_samples, "sample"),
                      unknown)};
}

Lines unusable_image_lines(const ImageConditions& conditions, const OptionNames& options) {
  Lines lines;
  for (const ImageConditions::Unusable& image : conditions.unusable) {
    lines.push_back(fmt::format("{}: the image {}, so loaders treat it as a bad sample (key \"{}\")",
                                shown_name(image.path), options.shown(what_is_wrong(image, conditions.max_pixels)),
                                printed_key(image.key)));
  }
  const std::uint64_t rest = conditions.num_unusable() - conditions.unusable.size();
  if (rest > 0) lines.push_back(fmt::format("and {} more that cannot be decoded", plural(rest, "image")));
  return lines;
}

}  // namespace bale
