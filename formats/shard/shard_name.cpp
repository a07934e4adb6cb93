#include "bale/formats/shard/shard_name.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace bale {
namespace {

constexpr std::size_t k_counted_digits = 5;
constexpr std::string_view k_digits = "0123456789";

/// Removes a run of at least five digits from the end.
bool take_number(std::string_view& text) {
  const std::size_t rest = text.find_last_not_of(k_digits) + 1;  // 0 if there are only digits
  if (text.size() - rest < k_counted_digits) return false;
  text = text.substr(0, rest);
  return true;
}

bool take_word(std::string_view& text, std::string_view word) {
  if (!text.ends_with(word)) return false;
  text.remove_suffix(word.size());
  return true;
}

}  // namespace

std::string shard_file_name(const Layout& layout, std::string_view dataset, std::uint64_t number, std::uint64_t count) {
  if (layout.counted) return fmt::format("{}-{:05}-of-{:05}{}", dataset, number, count, layout.suffix);
  return fmt::format("{}-{:06}{}", dataset, number, layout.suffix);
}

bool has_shard_name(const Layout& layout, std::string_view file) {
  // A sidecar's suffix may end with that of the shards.
  const auto is_sidecar = [&](const Sidecar& sidecar) { return file.ends_with(sidecar.suffix); };
  if (std::any_of(layout.sidecars.begin(), layout.sidecars.end(), is_sidecar)) return false;
  if (!take_word(file, layout.suffix)) return false;
  if (!layout.counted) return !file.empty();
  return take_number(file) && take_word(file, "-of-") && take_number(file) && take_word(file, "-") && !file.empty();
}

std::optional<CountedName> counted_name(std::string_view file) {
  constexpr std::string_view k_of = "-of-";
  const std::size_t of = file.rfind(k_of);
  if (of == std::string_view::npos) return std::nullopt;
  const std::string_view before = file.substr(0, of), after = file.substr(of + k_of.size());
  const std::size_t dash = before.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  const std::string_view number = before.substr(dash + 1);
  const std::string_view count = after.substr(0, std::min(after.find_first_not_of(k_digits), after.size()));
  const std::string_view suffix = after.substr(count.size());
  const auto is_count = [](std::string_view digits) { return digits.size() >= k_counted_digits && digits.size() <= 9; };
  if (!is_count(number) || number.find_first_not_of(k_digits) != std::string_view::npos) return std::nullopt;
  if (!is_count(count) || !(suffix.empty() || suffix.front() == '.')) return std::nullopt;
  return CountedName{std::string(before.substr(0, dash)), std::stoull(std::string(number)), std::string(count),
                     std::string(suffix)};
}

std::string sidecar_path(std::string_view shard_path, const Layout& layout, const Sidecar& sidecar) {
  take_word(shard_path, layout.suffix);
  return fmt::format("{}{}", shard_path, sidecar.suffix);
}

}  // namespace bale
