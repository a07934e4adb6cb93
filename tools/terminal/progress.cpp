#include "bale/tools/terminal/progress.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/text/human.hpp"

namespace bale::tools {
namespace {

constexpr double k_smoothing_seconds = 3;
constexpr double k_first_line_seconds = 2;
constexpr double k_line_seconds = 5;
constexpr unsigned k_min_bar = 10;
constexpr unsigned k_max_bar = 40;

double since_start() {
  static const auto start = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string rate_text(double samples_per_second) {
  if (samples_per_second < 10) return fmt::format("{:.1f} img/s", samples_per_second);
  return human_count(static_cast<std::uint64_t>(samples_per_second)) + " img/s";
}

std::string megabytes_text(double bytes_per_second) {
  const double megabytes = bytes_per_second / 1e6;
  return fmt::format("{:.{}f} MB/s", megabytes, megabytes < 10 ? 1 : 0);
}

/// Empty if no estimate is possible.
std::string eta_text(const ProgressCounts& counts, const ProgressRates& rates) {
  double left = -1;
  if (counts.total_bytes > 0 && rates.bytes_per_second > 0) {
    left = (static_cast<double>(counts.total_bytes) - static_cast<double>(counts.bytes)) / rates.bytes_per_second;
  } else if (counts.total_samples > 0 && rates.samples_per_second > 0) {
    left = (static_cast<double>(counts.total_samples) - static_cast<double>(counts.samples)) / rates.samples_per_second;
  }
  return left < 0 ? std::string{} : "ETA " + human_clock(left);
}

unsigned percent(const ProgressCounts& counts) {
  // Rounded down, so that 100 means done.
  return static_cast<unsigned>(progress_fraction(counts) * 100);
}

/// The parts after the percentage, most important first.
std::vector<std::string> parts_of(const ProgressCounts& counts, const ProgressRates& rates) {
  std::vector<std::string> parts;
  if (counts.total_samples > 0) {
    parts.push_back(fmt::format("{}/{}", human_count(counts.samples), human_count(counts.total_samples)));
  }
  if (counts.samples > 0) parts.push_back(rate_text(rates.samples_per_second));
  if (const std::string eta = eta_text(counts, rates); !eta.empty()) parts.push_back(eta);
  if (counts.bytes > 0) parts.push_back(megabytes_text(rates.bytes_per_second));
  if (counts.total_shards > 0) parts.push_back(fmt::format("{}/{} shards", counts.shards, counts.total_shards));
  if (counts.skipped > 0) parts.push_back(fmt::format("{} skipped", human_count(counts.skipped)));
  return parts;
}

}  // namespace

std::string progress_json(const ProgressCounts& counts) {
  return Json{{"progress",
               {{"samples", counts.samples},
                {"total_samples", counts.total_samples},
                {"bytes", counts.bytes},
                {"total_bytes", counts.total_bytes},
                {"shards", counts.shards},
                {"total_shards", counts.total_shards},
                {"skipped", counts.skipped}}}}
      .dump();
}

void RateMeter::update(double now, const ProgressCounts& counts) {
  if (started_ && now > time_) {
    const double elapsed = now - time_;
    const double samples = (static_cast<double>(counts.samples) - static_cast<double>(counts_.samples)) / elapsed;
    const double bytes = (static_cast<double>(counts.bytes) - static_cast<double>(counts_.bytes)) / elapsed;
    const double weight = measured_ ? 1 - std::exp(-elapsed / k_smoothing_seconds) : 1;
    rates_.samples_per_second += weight * (std::max(samples, 0.0) - rates_.samples_per_second);
    rates_.bytes_per_second += weight * (std::max(bytes, 0.0) - rates_.bytes_per_second);
    measured_ = counts.samples > 0 || counts.bytes > 0;
  }
  started_ = true;
  time_ = now;
  counts_ = counts;
}

double progress_fraction(const ProgressCounts& counts) {
  const auto share = [](std::uint64_t done, std::uint64_t total) {
    return std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  };
  if (counts.total_bytes > 0) return share(counts.bytes, counts.total_bytes);
  if (counts.total_samples > 0) return share(counts.samples, counts.total_samples);
  if (counts.total_shards > 0) return share(counts.shards, counts.total_shards);
  return 0;
}

std::string progress_bar(const ProgressCounts& counts, const ProgressRates& rates, unsigned width) {
  const std::string share = fmt::format("{:3}%", percent(counts));
  std::vector<std::string> parts = parts_of(counts, rates);
  const auto tail_of = [&] {
    std::string tail = " " + share;
    for (const std::string& part : parts) tail += "  " + part;
    return tail;
  };
  // The last column stays free: writing there wraps on some terminals.
  const std::size_t room = width > 1 ? width - 1 : 0;
  std::string tail = tail_of();
  while (!parts.empty() && tail.size() + k_min_bar + 2 > room) {
    parts.pop_back();
    tail = tail_of();
  }
  if (tail.size() + k_min_bar + 2 > room) return share.size() <= room ? share : std::string{};
  const std::size_t bar = std::min<std::size_t>(room - tail.size() - 2, k_max_bar);
  const auto filled = static_cast<std::size_t>(progress_fraction(counts) * static_cast<double>(bar));
  return fmt::format("[{}{}]{}", std::string(filled, '#'), std::string(bar - filled, '-'), tail);
}

std::string progress_sentence(const std::string& verb, const ProgressCounts& counts, const ProgressRates& rates) {
  std::string text = verb;
  if (counts.total_samples > 0) {
    text += fmt::format(" {} of {} samples ({}%)", human_count(counts.samples), human_count(counts.total_samples),
                        percent(counts));
  } else {
    text += fmt::format(" {}", human_bytes(counts.bytes));
    if (counts.total_bytes > 0) text += fmt::format(" of {} ({}%)", human_bytes(counts.total_bytes), percent(counts));
  }
  if (counts.samples > 0) text += ", " + rate_text(rates.samples_per_second);
  if (counts.bytes > 0) text += ", " + megabytes_text(rates.bytes_per_second);
  if (counts.skipped > 0) text += fmt::format(", {} skipped", human_count(counts.skipped));
  if (progress_fraction(counts) < 1) {
    if (const std::string eta = eta_text(counts, rates); !eta.empty()) text += ", " + eta;
  }
  return text;
}

ProgressLine::ProgressLine(Terminal& terminal, std::string verb, ProgressStyle style)
    : terminal_(terminal), verb_(std::move(verb)), style_(style), next_(since_start() + k_first_line_seconds) {}

void ProgressLine::show(const ProgressCounts& counts) {
  const double now = since_start();
  counts_ = counts;
  meter_.update(now, counts);
  is_last_printed_ = false;
  if (style_ == ProgressStyle::none) return;
  if (style_ == ProgressStyle::json) {
    terminal_.note(progress_json(counts));
  } else if (terminal_.err_is_terminal()) {
    terminal_.set_status(progress_bar(counts, meter_.rates(), terminal_.err_width()));
  } else if (now >= next_) {
    terminal_.note(progress_sentence(verb_, counts, meter_.rates()));
    printed_ = is_last_printed_ = true;
    next_ = now + k_line_seconds;
  }
}

void ProgressLine::finish() {
  terminal_.clear_status();
  if (printed_ && !is_last_printed_) terminal_.note(progress_sentence(verb_, counts_, meter_.rates()));
}

}  // namespace bale::tools
