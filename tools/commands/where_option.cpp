#include "bale/tools/commands/where_option.hpp"

#include <algorithm>
#include <utility>

#include "bale/formats/base/error.hpp"

namespace bale::tools {
namespace {

/// The part of the condition around the column, and a caret below it.
void show_column(const std::string& text, std::size_t column, Terminal& terminal) {
  constexpr std::size_t k_around = 60;  // bytes before and after it
  const std::size_t begin = column > k_around ? column - k_around : 0;
  const std::string before = printable(std::string_view(text).substr(begin, column - begin));
  const std::string after = printable(std::string_view(text).substr(column, k_around));
  // A letter of several bytes takes one place.
  const auto places = std::count_if(before.begin(), before.end(),
                                    [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; });
  terminal.note("  " + before + after);
  terminal.note("  " + std::string(static_cast<std::size_t>(places), ' ') + '^');
}

}  // namespace

void show_where(const Error& error, const std::string& text, Terminal& terminal) {
  const auto column = error.context().offset;
  if (!column || !error.message().starts_with("`where`")) return;
  show_column(text, static_cast<std::size_t>(*column), terminal);
  throw Error(error.code(), error.message(), {.hint = error.context().hint});
}

Where parse_where(const WhereOption& option, Terminal& terminal) {
  Where where;
  with_column(option.text, terminal, [&] {
    if (!option.text.empty()) where = Where::parse(option.text);
  });
  where.require_like("key", option.keys);
  where.require_like("class", option.classes);
  return where;
}

void require_fields(const Where& where, const WhereOption& option, const Dataset& dataset, Terminal& terminal) {
  if (where.needs_fields()) with_column(option.text, terminal, [&] { where.require_fields(dataset.fields()); });
}

GlobUse::GlobUse(const WhereOption& option) {
  for (const auto& [name, globs] : {std::pair("key", &option.keys), std::pair("class", &option.classes)}) {
    for (const std::string& glob : *globs) {
      unmatched_.push_back({.option = name, .text = glob});
      unmatched_.back().where.require_like(name, {glob});
    }
  }
}

void GlobUse::see(const SampleFacts& facts) {
  std::erase_if(unmatched_, [&](const Glob& glob) { return glob.where.test(facts) == Truth::yes; });
}

void GlobUse::note_unmatched(NoticeLog& notices, std::string_view place) const {
  for (const Glob& glob : unmatched_) notices.no_match(glob.option, glob.text, place);
}

}  // namespace bale::tools
