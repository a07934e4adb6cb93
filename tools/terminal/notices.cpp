#include "bale/tools/terminal/notices.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/key_text.hpp"
#include "bale/formats/base/text/escaped_bytes.hpp"
#include "bale/tools/terminal/human.hpp"

namespace bale::tools {

void show_notices(const NoticeLog& notices, const std::string& noun, Terminal& terminal) {
  constexpr std::size_t k_max_warnings = 20;
  constexpr std::size_t k_shown_example = 300;
  for (const auto& [why, reason] : notices.reasons()) {
    const std::string example =
        reason.example.empty() ? "" : fmt::format(" (such as {})", excerpt(printable(reason.example), k_shown_example));
    terminal.note(fmt::format("{} {}: {}{}", reason.is_asked ? "left out" : "ignored", plural(reason.count, noun),
                              terminal.with_flags(printable(why)), example));
  }
  const auto& warnings = notices.warnings();
  for (std::size_t i = 0; i < std::min(warnings.size(), k_max_warnings); ++i) {
    const std::string place = warnings[i].place.empty() ? "" : shown_name(warnings[i].place) + ": ";
    terminal.note(place + terminal.with_flags(printable(warnings[i].what)));
  }
  if (warnings.size() > k_max_warnings) {
    terminal.note(fmt::format("and {} more", plural(warnings.size() - k_max_warnings, "warning")));
  }
}

void require_all_taken(const NoticeLog& notices, const std::string& noun) {
  if (!notices.has_unasked()) return;
  std::uint64_t num_ignored = 0;
  for (const auto& [why, reason] : notices.reasons()) num_ignored += reason.is_asked ? 0 : reason.count;
  throw Error(ErrorCode::unsupported,
              fmt::format("`strict`: {} ignored, and {}, as the lines before say", plural(num_ignored, noun),
                          plural(notices.warnings().size(), "warning")),
              {.hint = "correct or exclude what they name, or leave `strict` out"});
}

namespace {

std::string what_is_wrong(const ImageConditions::Flawed& image, std::uint64_t max_pixels) {
  if (image.condition == ImageCondition::incomplete) return "is incomplete";
  if (image.condition == ImageCondition::undecodable) return "cannot be decoded";
  return fmt::format("of {}x{} pixels is above the limit of {} pixels (`max_pixels`)", image.width, image.height,
                     max_pixels);
}

}  // namespace

void show_flawed_images(const ImageConditions& conditions, Terminal& terminal) {
  for (const ImageConditions::Flawed& image : conditions.flawed) {
    terminal.note(fmt::format("{}: the image {}, so loaders treat it as a bad sample (key \"{}\")",
                              shown_name(image.path), terminal.with_flags(what_is_wrong(image, conditions.max_pixels)),
                              printed_key(image.key)));
  }
  const std::uint64_t rest = conditions.num_flawed() - conditions.flawed.size();
  if (rest > 0) terminal.note(fmt::format("and {} more that cannot be decoded", plural(rest, "image")));
}

namespace {

constexpr std::chrono::milliseconds k_first_redraw{200};
constexpr std::chrono::milliseconds k_redraw{100};
constexpr std::chrono::seconds k_first_line{2};
constexpr std::chrono::seconds k_line{5};

}  // namespace

std::string scan_sentence(std::size_t number, std::size_t count) {
  return fmt::format("scanning shard {} of {}; `bale index` makes indexes that last", number + 1, count);
}

ScanNotice::ScanNotice(Terminal& terminal, bool quiet, Clock clock)
    : terminal_(terminal),
      quiet_(quiet),
      clock_(std::move(clock)),
      next_line_(clock_() + (terminal.err_is_terminal() ? std::chrono::milliseconds(k_first_redraw) : k_first_line)) {}

std::function<void(std::size_t, std::size_t)> ScanNotice::shower() {
  if (quiet_) return {};
  return [this](std::size_t number, std::size_t count) { show(number, count); };
}

void ScanNotice::show(std::size_t number, std::size_t count) {
  const auto now = clock_();
  if (now < next_line_) return;
  if (terminal_.err_is_terminal()) {
    terminal_.set_status(scan_sentence(number, count));
    shown_ = true;
    next_line_ = now + k_redraw;
  } else {
    terminal_.note(scan_sentence(number, count));
    next_line_ = now + k_line;
  }
}

void ScanNotice::finish() {
  if (shown_) terminal_.clear_status();
  shown_ = false;
}

}  // namespace bale::tools
