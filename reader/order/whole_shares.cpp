// whole_shares(): shares as text become whole numbers, without a rounding error.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/reader/order/mixture.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_most_share = std::uint64_t{1} << 62;
constexpr int k_most_digits = 18;

struct Fraction {
  std::uint64_t above = 0;
  std::uint64_t below = 1;
};

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = !text.empty() && error == std::errc{} && end == text.data() + text.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

/// nullopt if it has too many digits.
std::optional<std::uint64_t> power_of_ten(int exponent) {
  if (exponent < 0 || exponent > k_most_digits) return std::nullopt;
  std::uint64_t power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

/// nullopt if `text` is not a number above 0 that fits.
std::optional<Fraction> fraction_of(std::string_view text) {
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    const auto above = number_of<std::uint64_t>(text.substr(0, slash));
    const auto below = number_of<std::uint64_t>(text.substr(slash + 1));
    return above && below && *below != 0 ? std::optional(Fraction{*above, *below}) : std::nullopt;
  }
  int exponent = 0;
  if (const std::size_t mark = text.find_first_of("eE"); mark != std::string_view::npos) {
    std::string_view digits = text.substr(mark + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    const auto given = number_of<int>(digits);
    if (!given || std::abs(*given) > 1000) return std::nullopt;
    exponent = *given;
    text = text.substr(0, mark);
  }
  std::string digits(text);
  if (const std::size_t point = digits.find('.'); point != std::string::npos) {
    digits.erase(point, 1);
    while (digits.size() > std::max<std::size_t>(point, 1) && digits.back() == '0') digits.pop_back();
    exponent -= static_cast<int>(digits.size()) - static_cast<int>(point);
  }
  const auto mantissa = number_of<std::uint64_t>(digits);
  const auto power = power_of_ten(std::abs(exponent));
  if (!mantissa || !power) return std::nullopt;
  if (exponent < 0) return Fraction{*mantissa, *power};
  Fraction whole;
  return __builtin_mul_overflow(*mantissa, *power, &whole.above) ? std::nullopt : std::optional(whole);
}

Fraction reduced(Fraction fraction) {
  const std::uint64_t divisor = std::gcd(fraction.above, fraction.below);
  return {fraction.above / divisor, fraction.below / divisor};
}

[[noreturn]] void refuse(const NamedShare& share, const char* hint) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("shares: that of source '{}' is '{}'", share.source, share.share), {.hint = hint});
}

}  // namespace

std::vector<std::uint64_t> whole_shares(std::span<const NamedShare> shares) {
  constexpr const char* k_wanted = "a share is a number above 0, such as 7, 0.7 or 7/10; leave out sources without one";
  constexpr const char* k_too_fine = "give shares with fewer digits";
  std::vector<Fraction> fractions;
  std::uint64_t common = 1;  // denominator
  for (const NamedShare& share : shares) {
    const auto fraction = fraction_of(share.share);
    if (!fraction || fraction->above == 0) refuse(share, k_wanted);
    fractions.push_back(reduced(*fraction));
    const std::uint64_t below = fractions.back().below;
    if (__builtin_mul_overflow(common / std::gcd(common, below), below, &common)) refuse(share, k_too_fine);
  }
  std::vector<std::uint64_t> whole;
  std::uint64_t divisor = 0;
  for (std::size_t i = 0; i < fractions.size(); ++i) {
    std::uint64_t number = 0;
    const bool is_too_large = __builtin_mul_overflow(fractions[i].above, common / fractions[i].below, &number);
    if (is_too_large || number >= k_most_share) refuse(shares[i], k_too_fine);
    whole.push_back(number);
    divisor = std::gcd(divisor, number);
  }
  for (std::uint64_t& number : whole) number /= divisor;
  return whole;
}

}  // namespace bale
