// The parser of conditions (bale/reader/where.hpp). Input may be hostile: text and nesting are limited.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bale/reader/where.hpp"

namespace bale {

class WhereParser {
 public:
  explicit WhereParser(std::string_view text) : text_(text) {}
  Where parse();

  /// nullopt if there is no such name.
  static std::optional<Where::Name> name_of(std::string_view word);
  static bool is_text_name(Where::Name name);

 private:
  enum class Token { end, word, number, text, symbol };
  struct Deeper;

  [[noreturn]] void fail(std::size_t at, const std::string& message, std::string hint = {}) const;
  void next();
  void next_text(char quote);
  void next_number();
  bool is_word(std::string_view word) const;
  bool skip_word(std::string_view word);
  bool skip_symbol(std::string_view symbol);
  void expect_symbol(std::string_view symbol);
  std::string found() const;

  std::uint32_t add(Where::Node node);
  std::uint32_t negated(std::uint32_t node);
  std::uint32_t any_of();
  std::uint32_t all_of();
  std::uint32_t negation();
  std::uint32_t comparison();
  std::uint32_t compared(Where::Node left);
  Where::Node name();
  Where::Value value(Where::Node& compared, bool name_allowed);

  std::string_view text_;
  std::size_t at_ = 0;     // after the current token
  std::size_t begin_ = 0;  // of the current token
  Token token_ = Token::end;
  std::string word_;  // the current token: lower-case word, content of a text, symbol
  long double number_ = 0;
  unsigned depth_ = 0;
  Where where_;
};

/// Numbers of conditions as text: any whole number of 64 bits exactly.
/// The decimal number that is all of `text`, in C's notation without a leading plus, in any locale of the process.
/// nullopt if it is none, or if a long double does not hold it.
std::optional<long double> number_of_text(std::string_view text);

}  // namespace bale
