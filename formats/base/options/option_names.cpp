#include "bale/formats/base/options/option_names.hpp"

#include <algorithm>
#include <utility>

namespace bale {
namespace {

struct Clause {
  std::string_view joint;  // to the clause before it
  std::string_view text;
};

/// The next place at which a clause may end; npos if there is none.
std::size_t find_joint(std::string_view text, std::string_view& joint) {
  constexpr std::string_view k_joints[] = {", or ", "; "};
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '`') quoted = !quoted;
    if (quoted) continue;
    for (const std::string_view candidate : k_joints) {
      if (!text.substr(at).starts_with(candidate)) continue;
      joint = candidate;
      return at;
    }
  }
  return std::string_view::npos;
}

std::vector<Clause> clauses_of(std::string_view text) {
  std::vector<Clause> clauses;
  std::string_view joint;
  for (;;) {
    std::string_view next;
    const std::size_t end = find_joint(text, next);
    clauses.push_back({joint, text.substr(0, end)});
    if (end == std::string_view::npos) return clauses;
    text.remove_prefix(end + next.size());
    joint = next;
  }
}

bool is_option_name(std::string_view word) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !word.empty() && std::all_of(word.begin(), word.end(), fits);
}

std::string written(const std::string& name, bool is_flag) {
  if (!is_flag) return name;
  std::string flag = "--" + name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

/// The clause with its options as the front end writes them, and whether it has all of them.
std::string shown_clause(std::string_view clause, const OptionNames& options, bool& all_known) {
  std::string out;
  for (std::size_t open = clause.find('`'); open != std::string_view::npos; open = clause.find('`')) {
    const std::size_t close = clause.find('`', open + 1);
    if (close == std::string_view::npos) break;
    const std::string word(clause.substr(open + 1, close - open - 1));
    const bool is_known = std::find(options.names.begin(), options.names.end(), word) != options.names.end();
    all_known = all_known && (is_known || !is_option_name(word));
    out += clause.substr(0, open);
    out += is_known ? written(word, options.are_flags) : std::string(clause.substr(open, close + 1 - open));
    clause.remove_prefix(close + 1);
  }
  return out += clause;
}

std::string shown_text(std::string_view text, const OptionNames& options, bool keeps_first) {
  std::string out;
  for (const Clause& clause : clauses_of(text)) {
    bool all_known = true;
    const std::string words = shown_clause(clause.text, options, all_known);
    const bool is_first = clause.joint.empty();
    if (!all_known && !(is_first && keeps_first)) continue;
    if (!out.empty()) out += clause.joint;
    out += words;
  }
  return out;
}

}  // namespace

std::string OptionNames::followable(std::string_view hint) const { return shown_text(hint, *this, false); }

std::string OptionNames::shown(std::string_view message) const { return shown_text(message, *this, true); }

Error OptionNames::shown(const Error& error) const {
  ErrorContext context = error.context();
  context.hint = followable(context.hint);
  return {error.code(), shown(std::string_view(error.message())), std::move(context)};
}

}  // namespace bale
