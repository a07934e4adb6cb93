#include <fmt/format.h>

#include "bale/tools/help/command_model.hpp"
#include "bale_version.hpp"

namespace bale::tools {
namespace {

/// Escapes text for roff: backslashes, hyphens, and characters that would make a line a request.
std::string roff(const std::string& text) {
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    line_start = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '`') {
      out += "\\(ga";
    } else if (c == '\'') {
      out += "\\(aq";
    } else {
      out += c;
    }
  }
  return out;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

std::string tag(const OptionModel& option) {
  if (option.is_positional()) return italic(option.value_name);
  std::string text;
  if (!option.short_name.empty()) text += bold(option.short_name);
  if (!option.short_name.empty() && !option.long_name.empty()) text += ", ";
  if (!option.long_name.empty()) text += bold(option.long_name);
  if (option.takes_value()) text += ' ' + italic(option.value_name);
  return text;
}

std::string paragraph(const std::string& head, const std::string& text) {
  return fmt::format(".TP\n{}\n{}\n", head, roff(text));
}

std::string synopsis(const CommandModel& command) {
  std::string text = bold(command.name);
  text += " [" + italic("OPTIONS") + "]";
  for (const OptionModel* positional : command.positionals()) {
    text += positional->required ? ' ' + italic(positional->value_name) : " [" + italic(positional->value_name) + ']';
  }
  return text;
}

std::string command_section(const CommandModel& command) {
  std::string text =
      fmt::format(".SS {}\n{}\n.PP\n{}\n", roff(command.short_name()), synopsis(command), roff(command.summary));
  for (const OptionModel* positional : command.positionals()) text += paragraph(tag(*positional), positional->text);
  for (const OptionGroup& group : command.groups()) {
    for (const OptionModel* option : group.options) {
      if (option->long_name != "--help") text += paragraph(tag(*option), option->text);
    }
  }
  if (!command.footer.empty()) text += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(command.footer));
  return text;
}

constexpr const char* k_exit_status =
    ".TP\n0\nSuccess.\n.TP\n1\nFailure; one line on standard error says what, where and what to do.\n"
    ".TP\n2\nThe command line makes no sense.\n.TP\n3\n\\fBverify\\fR found damage, or \\fBdiff\\fR differences.\n"
    ".TP\n4\nFinished, but samples were skipped; they are listed on standard error and in the ledger it names.\n"
    ".TP\n5\nMay succeed when tried again.\n"
    ".TP\n130\nInterrupted; \\fBpack\\fR and \\fBconvert\\fR continue with \\fB\\-\\-resume\\fR.\n";

constexpr const char* k_notes =
    "Bytes of names and keys that are control characters or not UTF\\-8 are printed as \\exNN; in JSON a name that is "
    "not UTF\\-8 is an object {\"hex\": \"...\"}.\n.PP\n"
    "The first interrupt (Ctrl\\-C) ends a run in an orderly way, the second at once.\n";

}  // namespace

std::string man_page(const CommandModel& program) {
  std::string text = fmt::format(".TH BALE 1 \"\" \"bale {}\" \"User Commands\"\n", k_version_text);
  text += ".SH NAME\nbale \\- packs folders of small images into shards and reads them back fast\n.SH SYNOPSIS\n";
  for (const CommandModel& command : program.commands) text += synopsis(command) + "\n.br\n";
  text += fmt::format(".SH DESCRIPTION\n{}\n.SH COMMANDS\n", roff(program.summary));
  for (const CommandModel& command : program.commands) text += command_section(command);
  text += ".SH OPTIONS\n";
  for (const OptionModel& option : program.options) text += paragraph(tag(option), option.text);
  text += ".SH ENVIRONMENT\n";
  for (const VariableModel& variable : environment_variables()) {
    text += paragraph(bold(std::string(variable.names)), std::string(variable.text));
  }
  text += fmt::format(".SH EXIT STATUS\n{}.SH NOTES\n{}", k_exit_status, k_notes);
  return text;
}

}  // namespace bale::tools
