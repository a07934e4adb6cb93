#include "bale/tools/report/text/number_list.hpp"

#include <fmt/format.h>

namespace bale::tools {

std::string number_list(std::span<const std::uint64_t> numbers, std::string_view range) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (last < i + 2) last = i;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i]);
    if (last != i) text += fmt::format("{}{}", range, numbers[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace bale::tools
