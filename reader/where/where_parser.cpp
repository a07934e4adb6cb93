#include "bale/reader/where/where_parser.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/options/option_values.hpp"
#include "bale/formats/base/text/ascii_case.hpp"

namespace bale {
namespace {

constexpr std::size_t k_max_text_bytes = 1 << 16;
constexpr unsigned k_max_depth = 200;
constexpr std::array<std::string_view, 7> k_reserved{"and", "or", "not", "in", "like", "is", "unknown"};

struct NamedFact {
  std::string_view word;
  Where::Name name;
  bool is_text;
};
using enum Where::Name;
constexpr std::array<NamedFact, 12> k_facts{{{"key", key, true},
                                             {"label", label, false},
                                             {"class", class_name, true},
                                             {"width", width, false},
                                             {"height", height, false},
                                             {"pixels", pixels, false},
                                             {"megapixels", megapixels, false},
                                             {"aspect", aspect, false},
                                             {"bytes", bytes, false},
                                             {"format", format, true},
                                             {"shard", shard, true},
                                             {"index", Where::Name::index, false}}};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

std::string where_names() {
  std::string names;
  for (const NamedFact& fact : k_facts) names += fmt::format("{}{}", names.empty() ? "" : ", ", fact.word);
  return names;
}

std::optional<Where::Name> WhereParser::name_of(std::string_view word) {
  const auto found = std::find_if(k_facts.begin(), k_facts.end(), [&](const NamedFact& f) { return f.word == word; });
  if (found == k_facts.end()) return std::nullopt;
  return found->name;
}

bool WhereParser::is_text_name(Where::Name name) {
  return std::any_of(k_facts.begin(), k_facts.end(), [&](const NamedFact& f) { return f.name == name && f.is_text; });
}

/// Counts nesting while it lives.
struct WhereParser::Deeper {
  explicit Deeper(WhereParser& parser) : depth(parser.depth_) {
    if (++depth > k_max_depth) parser.fail(parser.begin_, "nested too deeply");
  }
  ~Deeper() { --depth; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
  unsigned& depth;
};

void WhereParser::fail(std::size_t at, const std::string& message, std::string hint) const {
  throw Error(ErrorCode::invalid_argument, fmt::format("`where`, column {}: {}", at + 1, message),
              {.offset = at, .hint = std::move(hint)});
}

void WhereParser::next() {
  while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  begin_ = at_;
  word_.clear();
  if (at_ == text_.size()) {
    token_ = Token::end;
    return;
  }
  const char c = text_[at_];
  const char after = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
  if (c == '\'' || c == '"') return next_text(c);
  if (is_digit(c) || c == '.' || ((c == '-' || c == '+') && (is_digit(after) || after == '.'))) return next_number();
  if (is_letter(c)) {
    token_ = Token::word;
    const auto continues = [&](std::size_t at) {
      return at < text_.size() && (is_letter(text_[at]) || is_digit(text_[at]));
    };
    // A dot inside is one of the name of a field.
    for (; continues(at_) || (at_ < text_.size() && text_[at_] == '.' && continues(at_ + 1)); ++at_) {
      word_ += lower_case(text_[at_]);
    }
    return;
  }
  token_ = Token::symbol;
  for (const std::string_view symbol : {"==", "!=", "<>", "<=", ">=", "=", "<", ">", "(", ")", ","}) {
    if (!text_.substr(at_).starts_with(symbol)) continue;
    word_ = symbol;
    at_ += symbol.size();
    return;
  }
  fail(begin_, fmt::format("\"{}\" is not understood", printable(text_.substr(begin_, 1))),
       "operators: = != < <= > >= in like is and or not");
}

void WhereParser::next_text(char quote) {
  token_ = Token::text;
  for (++at_; at_ < text_.size(); ++at_) {
    if (text_[at_] == quote) {
      if (at_ + 1 == text_.size() || text_[at_ + 1] != quote) {
        ++at_;
        return;
      }
      ++at_;
    }
    word_ += text_[at_];
  }
  fail(begin_, "the text has no closing quote");
}

void WhereParser::next_number() {
  token_ = Token::number;
  ++at_;  // a sign, a digit or a dot
  const auto continues = [&](char c) {
    const bool exponent_sign = (c == '-' || c == '+') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
    return is_digit(c) || is_letter(c) || c == '.' || exponent_sign;
  };
  while (at_ < text_.size() && continues(text_[at_])) ++at_;
  const std::string_view typed = text_.substr(begin_, at_ - begin_);
  word_ = typed;
  const std::string_view digits = typed.starts_with('+') ? typed.substr(1) : typed;
  if (const auto number = number_of_text(digits)) {
    number_ = *number;
    return;
  }
  if (const auto size = size_of_text(digits)) {
    number_ = static_cast<long double>(*size);
    return;
  }
  fail(begin_, fmt::format("\"{}\" is not a number", printable(typed)), "texts need quotes; sizes are 10KiB or 10KB");
}

bool WhereParser::is_word(std::string_view word) const { return token_ == Token::word && word_ == word; }

bool WhereParser::skip_word(std::string_view word) {
  if (!is_word(word)) return false;
  next();
  return true;
}

bool WhereParser::skip_symbol(std::string_view symbol) {
  if (token_ != Token::symbol || word_ != symbol) return false;
  next();
  return true;
}

void WhereParser::expect_symbol(std::string_view symbol) {
  if (!skip_symbol(symbol)) fail(begin_, fmt::format("\"{}\" is expected, not {}", symbol, found()));
}

std::string WhereParser::found() const {
  if (token_ == Token::end) return "the end";
  return fmt::format("\"{}\"", printable(text_.substr(begin_, at_ - begin_)));
}

std::uint32_t WhereParser::add(Where::Node node) {
  where_.nodes_.push_back(std::move(node));
  return static_cast<std::uint32_t>(where_.nodes_.size() - 1);
}

std::uint32_t WhereParser::negated(std::uint32_t node) { return add({.kind = Where::Kind::negation, .left = node}); }

std::uint32_t WhereParser::any_of() {
  const Deeper deeper(*this);
  std::uint32_t left = all_of();
  while (skip_word("or")) {
    const std::uint32_t right = all_of();
    left = add({.kind = Where::Kind::any_of, .left = left, .right = right});
  }
  return left;
}

std::uint32_t WhereParser::all_of() {
  std::uint32_t left = negation();
  while (skip_word("and")) {
    const std::uint32_t right = negation();
    left = add({.kind = Where::Kind::all_of, .left = left, .right = right});
  }
  return left;
}

std::uint32_t WhereParser::negation() {
  const Deeper deeper(*this);
  if (skip_word("not")) return negated(negation());
  if (!skip_symbol("(")) return comparison();
  const std::uint32_t inner = any_of();
  expect_symbol(")");
  return inner;
}

/// A comparison of what the name stands for, without the rest.
Where::Node WhereParser::name() {
  if (token_ != Token::word || std::find(k_reserved.begin(), k_reserved.end(), word_) != k_reserved.end())
    fail(begin_, fmt::format("a name is expected, not {}", found()), "names: " + where_names());
  const auto known = name_of(word_);
  Where::Node node{.name = known.value_or(Where::Name::field), .offset = begin_};
  node.is_text = is_text_name(node.name);
  if (!known) node.field = text_.substr(begin_, at_ - begin_);
  next();
  return node;
}

std::uint32_t WhereParser::comparison() {
  Where::Node left = name();
  if (skip_word("is")) {
    const bool known = skip_word("not");
    if (!skip_word("unknown")) fail(begin_, fmt::format("\"unknown\" is expected, not {}", found()));
    left.kind = Where::Kind::is_unknown;
    left.is_text = left.is_text || left.name == Where::Name::field;
    const std::uint32_t node = add(std::move(left));
    return known ? negated(node) : node;
  }
  const bool negative = skip_word("not");
  if (is_word("in") || is_word("like")) {
    const std::uint32_t node = compared(std::move(left));
    return negative ? negated(node) : node;
  }
  if (negative) fail(begin_, fmt::format("\"in\" or \"like\" is expected, not {}", found()));
  return compared(std::move(left));
}

/// The rest of a comparison, from its operator on.
std::uint32_t WhereParser::compared(Where::Node node) {
  const std::string symbol = word_;
  const std::size_t begin = begin_;
  const bool is_field = node.name == Where::Name::field;
  if (skip_word("in")) {
    node.kind = Where::Kind::one_of;
    expect_symbol("(");
    do node.values.push_back(value(node, false));
    while (skip_symbol(","));
    expect_symbol(")");
    return add(std::move(node));
  }
  if (skip_word("like")) {
    node.kind = Where::Kind::like;
    if (!node.is_text && !is_field)
      fail(begin, "\"like\" compares texts", "texts are key, class, format, shard and fields");
    node.is_text = true;
    node.values.push_back(value(node, false));
    return add(std::move(node));
  }
  static constexpr std::pair<std::string_view, Where::Kind> k_operators[] = {
      {"=", Where::Kind::equal},    {"==", Where::Kind::equal},   {"!=", Where::Kind::unequal},
      {"<>", Where::Kind::unequal}, {"<", Where::Kind::less},     {"<=", Where::Kind::at_most},
      {">", Where::Kind::more},     {">=", Where::Kind::at_least}};
  const auto* const found_operator = std::find_if(std::begin(k_operators), std::end(k_operators), [&](const auto& o) {
    return token_ == Token::symbol && o.first == symbol;
  });
  if (found_operator == std::end(k_operators)) {
    fail(begin, fmt::format("an operator is expected, not {}", found()), "operators: = != < <= > >= in like is");
  }
  node.kind = found_operator->second;
  next();
  const auto require_number = [&] {
    if (node.is_text && node.kind != Where::Kind::equal && node.kind != Where::Kind::unequal)
      fail(begin, fmt::format("\"{}\" compares numbers", symbol), "texts have =, !=, in and like");
  };
  require_number();
  node.values.push_back(value(node, true));
  require_number();
  return add(std::move(node));
}

/// The first value that a field is compared with says whether its text is a number.
Where::Value WhereParser::value(Where::Node& compared, bool name_allowed) {
  const std::size_t begin = begin_;
  Where::Value value{.is_text = token_ == Token::text};
  if (token_ == Token::word && name_allowed && name_of(word_)) {
    value.name = name().name;
    value.is_text = is_text_name(*value.name);
  } else if (token_ == Token::text || token_ == Token::number) {
    value.text = token_ == Token::text ? word_ : std::string{};
    value.number = token_ == Token::number ? number_ : 0;
  } else {
    fail(begin, fmt::format("a value is expected, not {}", found()),
         token_ == Token::word ? "texts need quotes" : std::string{});
  }
  const bool decides = compared.name == Where::Name::field && compared.values.empty() && !compared.is_text;
  if (decides) compared.is_text = value.is_text;
  const bool wants_text = compared.is_text;
  if (value.is_text != wants_text) {
    fail(begin, wants_text ? "a text is expected here" : "a number is expected here",
         wants_text ? "texts need quotes" : "numbers have no quotes");
  }
  if (!value.name) next();
  return value;
}

Where WhereParser::parse() {
  if (text_.size() > k_max_text_bytes) fail(0, "the condition is longer than 64 KiB");
  next();
  if (token_ == Token::end) fail(0, "the condition is empty", "names: " + where_names());
  any_of();
  if (token_ != Token::end) fail(begin_, fmt::format("\"and\" or \"or\" is expected, not {}", found()));
  return std::move(where_);
}

}  // namespace bale
