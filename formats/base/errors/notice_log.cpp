#include "bale/formats/base/notice_log.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/text/escaped_bytes.hpp"

namespace bale {
namespace {

/// Reasons are bale's own texts. A name inside one (a field, a type) must not let the list grow without limit.
constexpr std::size_t k_max_reasons = 64;
constexpr std::string_view k_other_reasons = "other reasons";
constexpr std::size_t k_shown_pattern = 256;

std::string cut(std::string_view name) {
  if (name.size() <= NoticeLog::k_max_name_bytes) return std::string(name);
  return std::string(name.substr(0, NoticeLog::k_max_name_bytes)) + "...";
}

std::string below(std::string_view place, std::string_view name) {
  if (place.empty()) return std::string(name);
  if (name.empty()) return std::string(place);
  return std::string(place).append(": ").append(name);
}

}  // namespace

NoticeLog::Reason& NoticeLog::tally(std::string_view why, std::uint64_t number, std::string_view example) {
  count_ += number;
  auto found = reasons_.find(why);
  if (found == reasons_.end()) {
    if (reasons_.size() >= k_max_reasons) why = k_other_reasons;
    found = reasons_.try_emplace(std::string(why)).first;
  }
  if (found->second.count == 0) found->second.example = example;
  found->second.count += number;
  return found->second;
}

void NoticeLog::add(std::string_view name, std::string_view why) {
  if (kept_.size() < max_kept_) {
    kept_.push_back({cut(name), std::string(why)});
    tally(why, 1, kept_.back().name);
  } else {
    const auto found = reasons_.find(why);
    tally(why, 1, found == reasons_.end() ? cut(name) : std::string());
  }
}

void NoticeLog::leave_out(std::string_view name, std::string_view why) { tally(why, 1, cut(name)).is_asked = true; }

void NoticeLog::add_rest(std::uint64_t offset, std::uint64_t bytes) {
  add(fmt::format("{} bytes at offset {}", bytes, offset), "data after the end of the archive");
}

void NoticeLog::keep(Warning warning) {
  const auto same = [&](const Warning& other) { return other.place == warning.place && other.what == warning.what; };
  if (warnings_.size() >= max_kept_ || std::any_of(warnings_.begin(), warnings_.end(), same)) return;
  warnings_.push_back(std::move(warning));
}

void NoticeLog::warn(std::string_view what) { keep({.what = cut(what)}); }

void NoticeLog::mention(std::string_view what) { keep({.what = cut(what), .kind = WarningKind::asked}); }

void NoticeLog::defect(std::string_view what, std::uint64_t offset) {
  keep({.what = cut(what), .kind = WarningKind::defect, .offset = offset});
}

void NoticeLog::no_match(std::string_view option, std::string_view text, std::string_view place) {
  keep({.place = std::string(place),
        .what = fmt::format("`{}`: nothing matches \"{}\"", option, excerpt(text, k_shown_pattern)),
        .kind = WarningKind::no_match,
        .subject = fmt::format("{} {}", option, text)});
}

void NoticeLog::no_matches(std::uint64_t count, std::string_view what, std::string_view place) {
  keep({.place = std::string(place), .what = cut(what), .kind = WarningKind::no_match, .count = count});
}

void NoticeLog::no_effect(std::string_view option, std::string_view why, std::string_view place) {
  keep({.place = std::string(place),
        .what = cut(fmt::format("`{}` has no effect: {}", option, why)),
        .kind = WarningKind::no_effect,
        .subject = std::string(option)});
}

NoticeLog NoticeLog::of_all(const std::vector<const NoticeLog*>& logs) {
  NoticeLog all;
  for (const NoticeLog* const log : logs) all.merge(*log, {});
  std::vector<std::string> named;
  std::erase_if(all.warnings_, [&](const Warning& warning) {
    if (warning.subject.empty()) return false;
    const auto is_same = [&](const Warning& other) {
      return other.kind == warning.kind && other.subject == warning.subject;
    };
    const auto has_it = [&](const NoticeLog* log) {
      return std::any_of(log->warnings_.begin(), log->warnings_.end(), is_same);
    };
    if (std::find(named.begin(), named.end(), warning.subject) != named.end()) return true;
    named.push_back(warning.subject);
    return !std::all_of(logs.begin(), logs.end(), has_it);
  });
  return all;
}

void NoticeLog::drop(std::string_view why) {
  const auto found = reasons_.find(why);
  if (found == reasons_.end()) return;
  count_ -= found->second.count;
  reasons_.erase(found);
  std::erase_if(kept_, [&](const Notice& notice) { return notice.why == why; });
}

void NoticeLog::drop_defects() {
  std::erase_if(warnings_, [](const Warning& warning) { return warning.kind == WarningKind::defect; });
}

std::uint64_t NoticeLog::count_of(WarningKind kind) const {
  std::uint64_t count = 0;
  for (const Warning& warning : warnings_) count += warning.kind == kind ? warning.count : 0;
  return count;
}

bool NoticeLog::has_unasked() const {
  const auto is_unasked = [](const Warning& warning) { return warning.kind != WarningKind::asked; };
  return std::any_of(warnings_.begin(), warnings_.end(), is_unasked) ||
         std::any_of(reasons_.begin(), reasons_.end(), [](const auto& reason) { return !reason.second.is_asked; });
}

void NoticeLog::merge(const NoticeLog& other, std::string_view place) {
  for (const Notice& notice : other.kept_) {
    if (kept_.size() >= max_kept_) break;
    kept_.push_back({below(place, notice.name), notice.why});
  }
  for (const auto& [why, reason] : other.reasons_) {
    tally(why, reason.count, below(place, reason.example)).is_asked = reason.is_asked;
  }
  for (Warning warning : other.warnings_) {
    warning.place = below(place, warning.place);
    keep(std::move(warning));
  }
}

}  // namespace bale
