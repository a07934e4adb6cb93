#include "bale/loader/local_ranks.hpp"

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace bale::loader_detail {
namespace {

std::optional<std::uint64_t> number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits(text);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc{} && end == digits.data() + digits.size() ? std::optional(number) : std::nullopt;
}

}  // namespace

NodeRanks local_ranks(const RankShare& share) {
  const NodeRanks alone{.first = share.rank, .count = 1};
  if (share.world_size == 1) return alone;
  if (number_in("RANK") != share.rank || number_in("WORLD_SIZE") != share.world_size) return alone;
  const auto rank = number_in("LOCAL_RANK");
  const auto count = number_in("LOCAL_WORLD_SIZE");
  const bool is_usable = rank && count && *rank < *count && *rank <= share.rank && *count <= share.world_size &&
                         share.rank - *rank <= share.world_size - *count;
  return is_usable ? NodeRanks{.first = share.rank - *rank, .count = *count} : alone;
}

}  // namespace bale::loader_detail
