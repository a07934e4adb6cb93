#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/human.hpp"
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

/// What to offer for a value: words, and names of files or directories.
struct Offers {
  std::vector<std::string> words;
  bool files = false;
  bool directories = false;
  bool nothing() const { return words.empty() && !files && !directories; }
};

/// In `value_name` words with a capital stand for values: N, DIR, cuda:N.
Offers offers_of(const OptionModel& option) {
  constexpr std::string_view k_files[] = {"A",   "ARG",  "B",    "FILE",   "LIST", "OTHER",
                                          "OUT", "PATH", "PLAN", "SOURCE", "SPEC", "SRC"};
  constexpr std::string_view k_directories[] = {"DIR", "DST"};
  const auto has = [](const auto& names, const std::string& name) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  std::vector<std::string> words = option.choices();
  if (words.empty()) words.push_back(option.value_name);
  Offers offers;
  for (const std::string& word : words) {
    const auto is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
    if (std::none_of(word.begin(), word.end(), is_capital)) offers.words.push_back(word);
    offers.files = offers.files || has(k_files, word);
    offers.directories = offers.directories || has(k_directories, word);
  }
  return offers;
}

std::string spaced(const std::vector<std::string>& words) { return joined(words, " "); }

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

/// Arguments of _bale_offer: "files 'fail skip'".
std::string bash_offer(const Offers& offers) {
  const char* const names = offers.files ? "files" : offers.directories ? "directories" : "none";
  return fmt::format("{} {}", names, quoted(spaced(offers.words)));
}

std::string bash_command(const CommandModel& command) {
  std::string values;
  each_option(command, [&](const OptionModel& option) {
    if (!option.takes_value()) return;
    values +=
        fmt::format("        {}) _bale_offer {}; return ;;\n", case_pattern(option), bash_offer(offers_of(option)));
  });
  Offers plain;
  for (const OptionModel* positional : command.positionals()) {
    const Offers offers = offers_of(*positional);
    plain.words.insert(plain.words.end(), offers.words.begin(), offers.words.end());
    plain.files = plain.files || offers.files || offers.directories;
  }
  std::string text = fmt::format("    {})\n", command.short_name());
  if (!values.empty()) text += "      case \"$previous\" in\n" + values + "      esac\n";
  text += fmt::format(
      "      case \"$current\" in\n        -*) _bale_offer none {} ;;\n        *) _bale_offer {} ;;\n      esac\n",
      quoted(spaced(flag_names(command))), bash_offer(plain));
  return text + "      ;;\n";
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
      "# Fills COMPREPLY. $1: files, directories or none; $2: words. Names may contain spaces.\n"
      "_bale_offer() {{\n"
      "  local typed=\"${{current//\\\\/}}\"\n"
      "  mapfile -t COMPREPLY < <(\n"
      "    [ -n \"$2\" ] && compgen -W \"$2\" -- \"$typed\"\n"
      "    case \"$1\" in files) compgen -f -- \"$typed\" ;; directories) compgen -d -- \"$typed\" ;; esac)\n"
      "}}\n"
      "_bale() {{\n"
      "  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" previous=\"${{COMP_WORDS[COMP_CWORD-1]}}\"\n"
      "  COMPREPLY=()\n"
      "  if [ \"$current\" = = ]; then current=''; fi  # --option=VALUE is three words\n"
      "  if [ \"$previous\" = = ]; then previous=\"${{COMP_WORDS[COMP_CWORD-2]}}\"; fi\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    _bale_offer none {}\n"
      "    return\n"
      "  fi\n"
      "  case \"${{COMP_WORDS[1]}}\" in\n"
      "{}"
      "  esac\n"
      "}}\n"
      "complete -o filenames -F _bale bale\n",
      quoted(names + spaced(flag_names(program))), cases);
}

/// Text in a specification of zsh's _arguments, where brackets and colons are special.
std::string zsh_text(const std::string& text) {
  return replaced(replaced(replaced(text, "[", "("), "]", ")"), ":", "\\:");
}

std::string zsh_value(const OptionModel& option) {
  const Offers offers = offers_of(option);
  const char* const names = offers.files ? "_files" : "_files -/";
  std::string action = " ";
  if (offers.words.empty()) {
    if (!offers.nothing()) action = names;
  } else if (offers.files || offers.directories) {
    action = fmt::format("{{compadd -- {}; {}}}", spaced(offers.words), names);
  } else {
    action = fmt::format("({})", spaced(offers.words));
  }
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
    const Offers offers = offers_of(option);
    std::vector<std::string> words = offers.words;
    if (offers.directories) words.emplace_back("(__fish_complete_directories)");
    line += offers.files ? " -r" : " -x";
    if (!words.empty()) line += " -a " + fish_quoted(spaced(words));
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
      const std::vector<std::string> words = offers_of(*positional).words;
      if (words.empty()) continue;
      text += fmt::format("complete -c bale -f -n {} -a {}\n", fish_quoted(condition), fish_quoted(spaced(words)));
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
              {.hint = fmt::format("choose one of: {}", joined(completion_shells()))});
}

}  // namespace bale::tools
