// The grammar of the command line as plain values. The parser, help texts, the manual page and shell completion are
// made from it, so that they always match.
#pragma once

#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bale::tools {

class Terminal;

/// An option with a value, a flag or a positional argument.
struct OptionModel {
  std::string short_name;  // "-j", may be empty
  std::string long_name;   // "--jobs"; of a positional argument its name: "SRC"
  std::string value_name;  // "N"; "A|B|C" lists all values; empty for a flag
  std::string text;
  /// Takes what was typed: one value, all of them if `repeated`, none if it is a flag. Throws `Error`
  /// (invalid_argument). Without it the parser itself acts: --help and --version.
  std::function<void(const std::vector<std::string>&)> take;
  std::string group = "Options";
  bool repeated = false;              // an option that may be given several times, or an argument of several values
  bool required = false;              // as the usage line shows it
  bool checked_by_command = false;    // required in a way that the parser cannot check
  std::vector<std::string> needed;    // long names of options without which this one means nothing
  std::vector<std::string> excluded;  // long names of options that it cannot be combined with

  bool is_positional() const { return !long_name.starts_with('-'); }
  bool takes_value() const { return !value_name.empty(); }
  /// "-j, --jobs N", or the name of a positional argument.
  std::string title() const;
  /// The words that `value_name` lists; empty if it lists none. Words in capitals, such as N or DIR, stand for values.
  std::vector<std::string> choices() const;

  OptionModel& needs(const OptionModel& other);
  OptionModel& excludes(const OptionModel& other);
};

struct OptionGroup {
  std::string title;
  std::vector<const OptionModel*> options;
};

struct CommandModel {
  std::string name;  // "bale pack"
  std::string summary;
  std::string footer;               // examples and notes, printed unchanged
  std::deque<OptionModel> options;  // a deque, so that references last
  std::vector<CommandModel> commands;
  std::function<int(Terminal&)> run;  // returns the exit code

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
