#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/tools/help/command_model.hpp"

namespace bale::tools {
namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// `text` in single quotes, for bash and zsh.
std::string quoted(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

/// Values to offer; none if file names are offered instead.
std::vector<std::string> offers(const OptionModel& option) {
  std::vector<std::string> offers = option.choices();
  std::erase_if(offers, [](const std::string& offer) { return offer == "N"; });
  return offers;
}

template <typename Visit>
void each_option(const CommandModel& command, const Visit& visit) {
  for (const OptionGroup& group : command.groups()) {
    for (const OptionModel* option : group.options) visit(*option);
  }
}

std::vector<std::string> flag_names(const CommandModel& command) {
  std::vector<std::string> names;
  each_option(command, [&](const OptionModel& option) {
    if (!option.short_name.empty()) names.push_back(option.short_name);
    if (!option.long_name.empty()) names.push_back(option.long_name);
  });
  return names;
}

/// "-j|--jobs": a pattern for `case`.
std::string case_pattern(const OptionModel& option) {
  if (option.short_name.empty()) return option.long_name;
  return option.long_name.empty() ? option.short_name : option.short_name + '|' + option.long_name;
}

std::string bash_command(const CommandModel& command) {
  std::string values;
  each_option(command, [&](const OptionModel& option) {
    if (!option.takes_value()) return;
    const auto words = offers(option);
    values += words.empty() ? fmt::format("        {}) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n",
                                          case_pattern(option))
                            : fmt::format("        {}) COMPREPLY=($(compgen -W {} -- \"$current\")); return ;;\n",
                                          case_pattern(option), quoted(fmt::format("{}", fmt::join(words, " "))));
  });
  std::string words;
  for (const OptionModel* positional : command.positionals()) {
    for (const std::string& offer : offers(*positional)) words += ' ' + offer;
  }
  std::string text = fmt::format("    {})\n", command.short_name());
  if (!values.empty()) text += "      case \"$previous\" in\n" + values + "      esac\n";
  text += fmt::format("      words={}\n      ;;\n",
                      quoted(fmt::format("{}{}", fmt::join(flag_names(command), " "), words)));
  return text;
}

std::string bash_script(const CommandModel& program) {
  std::string names;
  std::string cases;
  for (const CommandModel& command : program.commands) {
    names += command.short_name() + ' ';
    cases += bash_command(command);
  }
  return fmt::format(
      "# bash completion for bale; made by `bale completion bash`.\n"
      "_bale() {{\n"
      "  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" previous=\"${{COMP_WORDS[COMP_CWORD-1]}}\" words=''\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W {} -- \"$current\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"${{COMP_WORDS[1]}}\" in\n"
      "{}"
      "  esac\n"
      "  if [[ \"$current\" == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "  else\n"
      "    local plain=''\n"
      "    for word in $words; do [[ \"$word\" == -* ]] || plain+=\" $word\"; done\n"
      "    if [ -n \"$plain\" ]; then COMPREPLY=($(compgen -W \"$plain\" -- \"$current\"))\n"
      "    else COMPREPLY=($(compgen -f -- \"$current\")); fi\n"
      "  fi\n"
      "}}\n"
      "complete -o filenames -F _bale bale\n",
      quoted(names + fmt::format("{}", fmt::join(flag_names(program), " "))), cases);
}

/// Text in a specification of zsh's _arguments, where brackets and colons are special.
std::string zsh_text(const std::string& text) {
  return replaced(replaced(replaced(text, "[", "("), "]", ")"), ":", "\\:");
}

std::string zsh_value(const OptionModel& option) {
  const auto words = offers(option);
  const std::string action = words.empty() ? "_files" : fmt::format("({})", fmt::join(words, " "));
  return fmt::format(":{}:{}", zsh_text(option.value_name), action);
}

std::string zsh_command(const CommandModel& command) {
  std::string text = fmt::format("    {})\n      _arguments", command.short_name());
  each_option(command, [&](const OptionModel& option) {
    for (const std::string& name : {option.short_name, option.long_name}) {
      if (name.empty()) continue;
      const std::string value = option.takes_value() ? zsh_value(option) : "";
      text += " \\\n        " + quoted(fmt::format("*{}[{}]{}", name, zsh_text(option.text), value));
    }
  });
  for (const OptionModel* positional : command.positionals()) text += " \\\n        " + quoted(zsh_value(*positional));
  return text + "\n      ;;\n";
}

std::string zsh_script(const CommandModel& program) {
  std::string names;
  std::string cases;
  for (const CommandModel& command : program.commands) {
    names += "      " + quoted(command.short_name() + ':' + replaced(command.summary, ":", "\\:")) + '\n';
    cases += zsh_command(command);
  }
  return fmt::format(
      "#compdef bale\n"
      "# zsh completion for bale; made by `bale completion zsh`.\n"
      "_bale() {{\n"
      "  if (( CURRENT == 2 )); then\n"
      "    local -a commands=(\n{}    )\n"
      "    _describe 'command' commands\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $command in\n"
      "{}"
      "  esac\n"
      "}}\n"
      "if [ \"$funcstack[1]\" = _bale ]; then _bale \"$@\"; else compdef _bale bale; fi\n",
      names, cases);
}

/// `text` in single quotes for fish, where the only escapes are \\ and \'.
std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string fish_option(const OptionModel& option, const std::string& condition) {
  std::string line = "complete -c bale -n " + fish_quoted(condition);
  if (!option.short_name.empty()) line += " -s " + option.short_name.substr(1);
  if (!option.long_name.empty()) line += " -l " + option.long_name.substr(2);
  if (option.takes_value()) {
    const auto words = offers(option);
    line += words.empty() ? " -r" : " -x -a " + fish_quoted(fmt::format("{}", fmt::join(words, " ")));
  }
  return line + " -d " + fish_quoted(option.text) + '\n';
}

std::string fish_script(const CommandModel& program) {
  std::string text = "# fish completion for bale; made by `bale completion fish`.\n";
  each_option(program, [&](const OptionModel& option) { text += fish_option(option, "__fish_use_subcommand"); });
  for (const CommandModel& command : program.commands) {
    text += fmt::format("complete -c bale -f -n __fish_use_subcommand -a {} -d {}\n", command.short_name(),
                        fish_quoted(command.summary));
    const std::string condition = "__fish_seen_subcommand_from " + command.short_name();
    each_option(command, [&](const OptionModel& option) { text += fish_option(option, condition); });
    for (const OptionModel* positional : command.positionals()) {
      const auto words = offers(*positional);
      if (words.empty()) continue;
      text += fmt::format("complete -c bale -f -n {} -a {}\n", fish_quoted(condition),
                          fish_quoted(fmt::format("{}", fmt::join(words, " "))));
    }
  }
  return text;
}

}  // namespace

const std::vector<std::string>& completion_shells() {
  static const std::vector<std::string> k_shells{"bash", "zsh", "fish"};
  return k_shells;
}

std::string completion_script(const CommandModel& program, const std::string& shell) {
  if (shell == "bash") return bash_script(program);
  if (shell == "zsh") return zsh_script(program);
  if (shell == "fish") return fish_script(program);
  throw Error(ErrorCode::invalid_argument, fmt::format("no completion for shell \"{}\"", printable(shell)),
              {.hint = fmt::format("choose one of: {}", fmt::join(completion_shells(), ", "))});
}

}  // namespace bale::tools
