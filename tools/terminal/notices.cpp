#include "bale/tools/terminal/notices.hpp"

#include <utility>

#include <fmt/format.h>

namespace bale::tools {
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
