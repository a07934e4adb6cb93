#include "bale/formats/shard/shard_name.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace bale {
namespace {

constexpr std::size_t k_counted_digits = 5;

/// Removes a run of at least five digits from the end.
bool take_number(std::string_view& text) {
  const std::size_t rest = text.find_last_not_of("0123456789") + 1;  // 0 if there are only digits
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

std::string sidecar_path(std::string_view shard_path, const Layout& layout, const Sidecar& sidecar) {
  take_word(shard_path, layout.suffix);
  return fmt::format("{}{}", shard_path, sidecar.suffix);
}

}  // namespace bale
