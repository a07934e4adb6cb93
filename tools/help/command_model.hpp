// The grammar as plain values. Help texts, the manual page and shell completion are made from it, so that they always
// match the parser.
#pragma once

#include <string>
#include <vector>

namespace bale::tools {

struct OptionModel {
  std::string short_name;  // "-j", may be empty
  std::string long_name;   // "--jobs"; empty for a positional argument
  std::string value_name;  // "N"; "A|B|C" lists all values; empty for a flag
  std::string text;
  bool required = false;

  bool is_positional() const { return short_name.empty() && long_name.empty(); }
  bool takes_value() const { return !value_name.empty(); }
  /// "-j, --jobs N", or the name of a positional argument.
  std::string title() const;
  /// All accepted values; empty if any value is accepted.
  std::vector<std::string> choices() const;
};

struct OptionGroup {
  std::string title;
  std::vector<OptionModel> options;
};

struct CommandModel {
  std::string name;  // "bale pack"
  std::string summary;
  std::string footer;  // examples and notes, printed unchanged
  std::vector<OptionModel> positionals;
  std::vector<OptionGroup> groups;
  std::vector<CommandModel> commands;

  /// "bale pack [OPTIONS] SRC DST".
  std::string usage() const;
  /// The last word of `name`.
  std::string short_name() const;
};

/// The text of --help, wrapped at `width` columns.
std::string help_text(const CommandModel& command, unsigned width);

/// A man page in roff for the whole program.
std::string man_page(const CommandModel& program);

/// A completion script; `shell` is one of completion_shells().
std::string completion_script(const CommandModel& program, const std::string& shell);
const std::vector<std::string>& completion_shells();

}  // namespace bale::tools
