// The command line as plain values. The parser, help texts, the manual page and shell completion are
// made from it, so that they always match.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/options/option_table.hpp"

namespace bale::tools {

class Terminal;

struct OptionGroup {
  std::string title;
  std::vector<const OptionModel*> options;
};

struct CommandModel {
  std::string name;  // "bale pack"
  std::string summary;
  std::string footer;  // examples and notes, printed unchanged
  OptionTable options;
  std::vector<CommandModel> commands;
  std::function<void(CommandModel&)> complete;  // adds the options, and `run`
  std::function<int(Terminal&)> run;            // returns the exit code

  /// "bale pack [OPTIONS] SRC DST".
  std::string usage() const;
  /// The last word of `name`.
  std::string short_name() const;

  std::vector<const OptionModel*> positionals() const;
  /// The other options by their groups, in the order in which they are declared.
  std::vector<OptionGroup> groups() const;
};

/// The text of --help, wrapped at `width` columns.
std::string help_text(const CommandModel& command, unsigned width);
/// The text of -h: one line of at most `width` columns per option, and where the rest is.
std::string short_help_text(const CommandModel& command, unsigned width);

/// A man page in roff for the whole program.
std::string man_page(const CommandModel& program);

/// A completion script; `shell` is one of completion_shells().
std::string completion_script(const CommandModel& program, const std::string& shell);
const std::vector<std::string>& completion_shells();

// The environment variables that the program reads, for the manual page.

struct VariableModel {
  std::string_view names;  // one, or several of one purpose: "A, B"
  std::string_view text;
};

std::span<const VariableModel> environment_variables();

/// The word that a misspelled one was meant to be.
/// "; did you mean WORD?" with the nearest of `words`, or "" if none is near.
std::string suggestion(std::string_view typed, const std::vector<std::string>& words);

}  // namespace bale::tools
