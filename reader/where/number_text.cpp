#include "bale/reader/where/where_parser.hpp"

#include <locale.h>

#include <cerrno>
#include <cstdlib>
#include <string>

namespace bale {

// std::from_chars would do, but libc++ has none for long double.
std::optional<long double> number_of_text(std::string_view text) {
  // strtold also takes spaces, "inf", "nan" and hexadecimal numbers.
  if (text.empty() || text.find_first_not_of("0123456789.eE+-") != std::string_view::npos || text.starts_with('+')) {
    return std::nullopt;
  }
  // Kept until the process ends. It is null if there is no memory; strtold_l must not get that.
  static const locale_t c_locale = ::newlocale(LC_ALL_MASK, "C", nullptr);
  if (c_locale == nullptr) return std::nullopt;
  const std::string terminated(text);
  char* end = nullptr;
  const int kept = errno;
  errno = 0;
  const long double number = ::strtold_l(terminated.c_str(), &end, c_locale);
  const bool fits = errno != ERANGE;
  errno = kept;
  if (!fits || end != terminated.c_str() + terminated.size()) return std::nullopt;
  return number;
}

}  // namespace bale
