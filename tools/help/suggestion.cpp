#include "bale/tools/help/command_model.hpp"

#include <algorithm>
#include <cstddef>

namespace bale::tools {
namespace {

/// Insertions, deletions, replacements and swaps of neighbors that make `b` of `a` (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> best(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        best[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = best[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      best[i][j] = std::min({best[i - 1][j] + 1, best[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        best[i][j] = std::min(best[i][j], best[i - 2][j - 2] + 1);
      }
    }
  }
  return best[a.size()][b.size()];
}

}  // namespace

std::string suggestion(std::string_view typed, const std::vector<std::string>& words) {
  constexpr std::size_t k_longest = 64;  // of a word that can be meant
  if (typed.size() > k_longest) return {};
  std::size_t least = std::max<std::size_t>(1, typed.size() / 3) + 1;
  std::string nearest;
  for (const std::string& word : words) {
    // A word that was cut short is meant, however much is missing.
    const bool is_begin = typed.size() > 3 && word.starts_with(typed);
    const std::size_t distance = is_begin ? 1 : edit_distance(typed, word);
    if (distance >= least) continue;
    least = distance;
    nearest = word;
  }
  return nearest.empty() ? std::string{} : "; did you mean " + nearest + "?";
}

}  // namespace bale::tools
