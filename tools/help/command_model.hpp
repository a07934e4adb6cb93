// The grammar as plain values: what help texts, the man page and shell completion are made from, so that
// none of them can drift from what is parsed.
#pragma once

#include <string>
#include <vector>

namespace bale::tools {

struct OptionModel {
  std::string short_name;  // "-j", may be empty
  std::string long_name;   // "--jobs"; empty for a positional argument
  std::string value_name;  // "N"; "A|B|C" are the only values there are; empty for a flag
  std::string text;
  bool required = false;

  bool is_positional() const { return short_name.empty() && long_name.empty(); }
  bool takes_value() const { return !value_name.empty(); }
  /// "-j, --jobs N", or the name of a positional argument.
  std::string title() const;
  /// The only values there are; empty where any may be given.
  std::vector<std::string> choices() const;
};

struct OptionGroup {
  std::string title;
  std::vector<OptionModel> options;
};

struct CommandModel {
  std::string name;  // "bale pack"
  std::string summary;
  std::string footer;  // examples and notes, lines as they are
  std::vector<OptionModel> positionals;
  std::vector<OptionGroup> groups;
  std::vector<CommandModel> commands;

  /// "bale pack [OPTIONS] SRC DST".
  std::string usage() const;
  /// The last word of `name`.
  std::string short_name() const;
};

/// What --help prints, wrapped at `width` columns.
std::string help_text(const CommandModel& command, unsigned width);

/// A man page in roff for the whole program.
std::string man_page(const CommandModel& program);

/// A completion script; `shell` is one of completion_shells().
std::string completion_script(const CommandModel& program, const std::string& shell);
const std::vector<std::string>& completion_shells();

}  // namespace bale::tools
